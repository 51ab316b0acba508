// Layers made of layers: Sequential and Residual.
#include <ATen/ops/add.h>
#include <ATen/ops/mul.h>

#include "chain.h"
#include "model/layer.h"

namespace trainlab {

namespace {

class Sequential final : public ChainLayer {
 public:
  Sequential(const Options& options, LayerContext& context) : ChainLayer(options.children("layers"), context) {}
};

class Residual final : public Layer {
 public:
  Residual(const Options& options, LayerContext& context) : body_(options.children("body"), context) {
    output = body_.last().output;
    if (options.has("shortcut")) shortcut_ = context.child(options.child("shortcut"), context.incoming(), "shortcut");
    const Shape& added = shortcut_ ? shortcut_->output : context.input();
    if (added != output) {
      const std::string expected = "expected body and shortcut of one shape, found the body's output " +
                                   shape_text(output) + " and the shortcut's " + shape_text(added);
      throw context.error(expected).hint(shortcut_
                                             ? "change the last layer of one of them"
                                             : "without `shortcut` the input itself is added; give a layer that maps " +
                                                   shape_text(added) + " to " + shape_text(output));
    }
  }

  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    const at::Tensor y = body_.forward(x, pass);
    return at::add(y, shortcut_ ? forward_checked(*shortcut_, x, pass) : x);
  }

  bool stackable() const override { return body_.stackable() && (!shortcut_ || shortcut_->stackable()); }
  Flops flops() const override {
    Flops sum = body_.flops();
    if (shortcut_) sum += shortcut_->flops();
    return sum;
  }
  void count_kept(KeptMemory& memory) const override {
    const std::size_t input = memory.mark();
    body_.count_kept(memory);
    memory.back_to(input);
    if (shortcut_) shortcut_->count_kept(memory);
    memory.produce(output);
  }
  std::vector<const Layer*> children() const override {
    std::vector<const Layer*> list = body_.children();
    if (shortcut_) list.push_back(shortcut_.get());
    return list;
  }

 private:
  Chain body_;
  std::unique_ptr<Layer> shortcut_;  // null: the identity
};

}  // namespace

void register_containers(Registry& registry) {
  registry.add(Entry("nn.Sequential", "layer", "Layers one after the other.")
                   .with(Option("layers", "the layers, in order").entry("layer").array().required())
                   .example("nn.Sequential { nn.Flatten(), nn.Linear(64), nn.ReLU(), nn.Linear(10) }"),
               layer_kind<Sequential>({.chain = "layers"}));
  registry.add(
      Entry("nn.Residual", "layer", "The output of a chain of layers plus its input: body(x) + shortcut(x).")
          .with(Option("body", "the layers of the chain, in order").entry("layer").array().required())
          .with(Option("shortcut",
                       "layer that the input passes beside the body; without a shortcut the input itself is added")
                    .entry("layer"))
          .example("nn.Residual { nn.Linear(64), nn.ReLU(), nn.Linear(64) }")
          .note("Body and shortcut must give the same shape. He et al. 2015."),
      layer_kind<Residual>());
}

}  // namespace trainlab

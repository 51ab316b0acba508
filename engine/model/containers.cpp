// Layers made of layers: Sequential and Residual.
#include <ATen/ops/add.h>

#include "entries.h"
#include "model/layer.h"

namespace trainlab {

namespace {

class Chain {
 public:
  Chain(const std::vector<Options>& specs, LayerContext& context) {
    Shape shape = context.input();
    for (std::size_t i = 0; i < specs.size(); ++i) {
      layers_.push_back(context.child(specs[i], shape, static_cast<int>(i + 1)));
      shape = layers_.back()->output;
    }
    if (layers_.empty()) throw context.error("expected at least one layer, found none");
  }

  const Shape& output() const { return layers_.back()->output; }

  at::Tensor forward(const at::Tensor& x, const Pass& pass) const {
    at::Tensor y = forward_checked(*layers_[0], x, pass);
    for (std::size_t i = 1; i < layers_.size(); ++i) y = forward_checked(*layers_[i], y, pass);
    return y;
  }

  bool stackable() const {
    for (const auto& layer : layers_) {
      if (!layer->stackable()) return false;
    }
    return true;
  }
  Flops flops() const {
    Flops sum;
    for (const auto& layer : layers_) sum += layer->flops();
    return sum;
  }
  void count_kept(KeptMemory& memory) const {
    for (const auto& layer : layers_) layer->count_kept(memory);
  }
  std::vector<const Layer*> children() const {
    std::vector<const Layer*> list;
    for (const auto& layer : layers_) list.push_back(layer.get());
    return list;
  }

 private:
  std::vector<std::unique_ptr<Layer>> layers_;
};

class Sequential final : public Layer {
 public:
  Sequential(const Options& options, LayerContext& context) : chain_(options.children("layers"), context) {
    output = chain_.output();
  }
  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override { return chain_.forward(x, pass); }
  bool stackable() const override { return chain_.stackable(); }
  Flops flops() const override { return chain_.flops(); }
  void count_kept(KeptMemory& memory) const override { chain_.count_kept(memory); }
  std::vector<const Layer*> children() const override { return chain_.children(); }

 private:
  Chain chain_;
};

class Residual final : public Layer {
 public:
  Residual(const Options& options, LayerContext& context) : body_(options.children("body"), context) {
    output = body_.output();
    if (options.has("shortcut")) shortcut_ = context.child(options.child("shortcut"), context.input(), "shortcut");
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

template <class T>
std::unique_ptr<Layer> make(const Options& options, LayerContext& context) {
  return std::make_unique<T>(options, context);
}

}  // namespace

void register_containers(Registry& registry) {
  registry.add(Entry("nn.Sequential", "layer", "Layers one after the other.")
                   .with(Option("layers", "the layers, in order").entry("layer").array().required())
                   .example("nn.Sequential { nn.Flatten(), nn.Linear(64), nn.ReLU(), nn.Linear(10) }"),
               LayerFactory(make<Sequential>));
  registry.add(Entry("nn.Residual", "layer", "The output of a chain of layers plus its input: body(x) + shortcut(x).")
                   .with(Option("body", "the layers of the chain, in order").entry("layer").array().required())
                   .with(Option("shortcut", "layer on the way round the body; without it the input itself is added")
                             .entry("layer"))
                   .example("nn.Residual { nn.Linear(64), nn.ReLU(), nn.Linear(64) }")
                   .note("Body and shortcut must give the same shape. He et al. 2015."),
               LayerFactory(make<Residual>));
}

}  // namespace trainlab

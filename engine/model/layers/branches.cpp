// Layers side by side and over and over: nn.Concat, nn.Sum, nn.Repeat.
#include <ATen/ops/add.h>
#include <ATen/ops/concat.h>

#include "chain.h"
#include "core/words.h"

namespace trainlab {

namespace {

// Branches that all receive what comes in.
class Branches : public Layer {
 public:
  Branches(const Options& options, LayerContext& context) {
    int position = 0;
    for (const Options& spec : options.children("branches")) {
      branches_.push_back(context.child(spec, context.incoming(), ++position));
      const Layer& branch = *branches_.back();
      if (branch.integers) {
        throw context.error("expected branches of floating-point numbers, found integers from branch " +
                            std::to_string(position));
      }
      needs_gradient |= branch.needs_gradient;
    }
    if (branches_.empty()) throw context.error("expected at least one branch, found none");
  }

  bool stackable() const final {
    for (const auto& branch : branches_) {
      if (!branch->stackable()) return false;
    }
    return true;
  }
  Flops flops() const final {
    Flops sum;
    for (const auto& branch : branches_) sum += branch->flops();
    return sum;
  }
  void count_kept(KeptMemory& memory) const final {
    const std::size_t input = memory.mark();
    for (const auto& branch : branches_) {
      memory.back_to(input);
      branch->count_kept(memory);
    }
    memory.produce(output);
  }
  std::vector<const Layer*> children() const final {
    std::vector<const Layer*> list;
    for (const auto& branch : branches_) list.push_back(branch.get());
    return list;
  }

 protected:
  c10::SmallVector<at::Tensor, 4> outputs(const at::Tensor& x, const Pass& pass) const {
    c10::SmallVector<at::Tensor, 4> all;
    for (const auto& branch : branches_) all.push_back(forward_checked(*branch, x, pass));
    return all;
  }
  std::string shapes() const {
    return joined(branches_, ", ", [](const auto& branch) { return shape_text(branch->output); });
  }
  const std::vector<std::unique_ptr<Layer>>& branches() const { return branches_; }

 private:
  std::vector<std::unique_ptr<Layer>> branches_;
};

class Concat final : public Branches {
 public:
  Concat(const Options& options, LayerContext& context) : Branches(options, context), dim_(options.integer("dim")) {
    output = branches()[0]->output;
    const auto axis = static_cast<std::int64_t>(output.size()) + dim_;
    if (axis < 0) {
      throw context.error("expected branches of at least " + std::to_string(-dim_) +
                          " axes for dim = " + std::to_string(dim_) + ", found " + shapes());
    }
    std::int64_t& joined = output[static_cast<std::size_t>(axis)];
    for (std::size_t i = 1; i < branches().size(); ++i) {
      Shape other = branches()[i]->output;
      const std::int64_t size = other.size() == output.size() ? other[static_cast<std::size_t>(axis)] : 0;
      if (other.size() == output.size()) other[static_cast<std::size_t>(axis)] = joined;
      if (other != output) {
        throw context.error("expected branches of equal shapes but for axis " + std::to_string(dim_) + ", found " +
                            shapes());
      }
      joined += size;
    }
  }
  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    return at::concat(outputs(x, pass), dim_);
  }

 private:
  std::int64_t dim_;
};

class Sum final : public Branches {
 public:
  Sum(const Options& options, LayerContext& context) : Branches(options, context) {
    output = branches()[0]->output;
    for (const auto& branch : branches()) {
      if (branch->output != output) throw context.error("expected branches of one shape, found " + shapes());
    }
  }
  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    const auto all = outputs(x, pass);
    at::Tensor sum = all[0];
    for (std::size_t i = 1; i < all.size(); ++i) sum = at::add(sum, all[i]);
    return sum;
  }
};

class Repeat final : public ChainLayer {
 public:
  Repeat(const Options& options, LayerContext& context)
      : ChainLayer(std::vector<Options>(static_cast<std::size_t>(options.integer("times")), options.child("layer")),
                   context) {}
};

Option branches_option(std::string doc) { return Option("branches", std::move(doc)).entry("layer").array().required(); }

}  // namespace

void register_branches(Registry& registry) {
  registry.add(
      Entry("nn.Concat", "layer", "The outputs of several layers, which all receive the input, joined along one axis.")
          .with(branches_option("the layers; the shapes of their outputs may differ in the joined axis only"))
          .with(Option("dim", "the axis, counted from the end: -1 features, -3 the channels of images")
                    .integer()
                    .at_most(-1)
                    .or_default(-1))
          .example("nn.Concat { nn.Sequential { nn.Input(\"words\"), nn.Embedding(50, 8), nn.Flatten() }, "
                   "nn.Input(\"numbers\") }"),
      layer_kind<Concat>());
  registry.add(Entry("nn.Sum", "layer", "The sum of the outputs of several layers, which all receive the input.")
                   .with(branches_option("the layers, which all have the same output shape"))
                   .example("nn.Sum { nn.Linear(8), nn.Sequential { nn.Input(\"other\"), nn.Linear(8) } }"),
               layer_kind<Sum>());
  registry.add(
      Entry("nn.Repeat", "layer", "Copies of a layer one after the other, each with weights of its own.")
          .with(Option("times", "number of copies").integer().at_least(1).at_most(10000).positional().required())
          .with(Option("layer", "the layer").entry("layer").positional().required())
          .example("nn.Repeat(4, nn.Residual { nn.Linear(64), nn.ReLU() })"),
      layer_kind<Repeat>({.repeats = "times"}));
}

}  // namespace trainlab

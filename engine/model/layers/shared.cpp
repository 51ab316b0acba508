// nn.Shared: layers in several places with one set of weights.
#include "build.h"

namespace trainlab {

namespace {

class Shared final : public Layer {
 public:
  Shared(const Options& options, LayerContext& context)
      : layer_(context.shared_child(options.child("layer"), context.incoming(), options.string("name"))) {
    output = layer_->output;
    integers = layer_->integers;
    needs_gradient = true;  // its weights may have been declared by another
  }
  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override { return forward_checked(*layer_, x, pass); }
  std::optional<Linear> linear() const override { return layer_->linear(); }
  bool stackable() const override { return layer_->stackable(); }
  Flops flops() const override { return layer_->flops(); }
  void count_kept(KeptMemory& memory) const override { layer_->count_kept(memory); }
  std::vector<const Layer*> children() const override { return {layer_.get()}; }

 private:
  std::unique_ptr<Layer> layer_;
};

}  // namespace

void register_shared(Registry& registry) {
  registry.add(
      Entry("nn.Shared", "layer", "A layer that shares its weights with all layers under the same name.")
          .with(Option("name", "layers under one name have the same weights").string().positional().required())
          .with(Option("layer", "the layer").entry("layer").positional().required())
          .example("nn.Shared(\"tokens\", nn.Embedding(65, 128))")
          .note(
              "Tensors of equal names are one tensor, \"shared.NAME.weight\", with the initial values of the first "
              "place. "
              "The layers may differ in kind: nn.Shared(\"tokens\", nn.Linear(65, { bias = false })) is an output head "
              "tied to the embedding above (Press and Wolf 2017). Random layers draw anew in each place."),
      layer_kind<Shared>());
}

}  // namespace trainlab

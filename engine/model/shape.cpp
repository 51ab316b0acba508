// Layers that move no numbers: Flatten and Identity.
#include "entries.h"
#include "model/layer.h"

namespace trainlab {

namespace {

class Flatten final : public Layer {
 public:
  Flatten(const Options&, LayerContext& context) { output = {element_count(context.input())}; }

  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    if (pass.members() > 0) return x.reshape({x.size(0), x.size(1), output[0]});
    return x.reshape({x.size(0), output[0]});
  }

  bool stackable() const override { return true; }
  void count_kept(KeptMemory&) const override {}  // a view of its input
};

class Identity final : public Layer {
 public:
  Identity(const Options&, LayerContext& context) { output = context.input(); }
  at::Tensor forward(const at::Tensor& x, const Pass&) const override { return x; }
  bool stackable() const override { return true; }
  void count_kept(KeptMemory&) const override {}
};

template <class T>
std::unique_ptr<Layer> make(const Options& options, LayerContext& context) {
  return std::make_unique<T>(options, context);
}

}  // namespace

void register_shape(Registry& registry) {
  registry.add(Entry("nn.Flatten", "layer", "All axes of a sample made into one: [1, 8, 8] becomes [64].")
                   .example("nn.Flatten()"),
               LayerFactory(make<Flatten>));
  registry.add(Entry("nn.Identity", "layer", "Passes its input on.").example("nn.Identity()"),
               LayerFactory(make<Identity>));
}

}  // namespace trainlab

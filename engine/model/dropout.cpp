// nn.Dropout: in training, elements are zeroed with probability p and the others scaled by 1 / (1 − p).
#include <ATen/ops/mul.h>

#include "entries.h"
#include "model/layer.h"
#include "tensor/random.h"

namespace trainlab {

namespace {

class Dropout final : public Layer {
 public:
  Dropout(const Options& options, LayerContext& context)
      : p_(options.number("p")), purpose_(Key(0).fold("dropout").fold(context.name()).bits()) {
    output = context.input();
  }

  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    if (!pass.training || p_ == 0) return x;
    c10::SmallVector<Key, 16> keys;
    for (const Key& key : pass.keys) keys.push_back(key.fold(purpose_));
    return at::mul(x, dropout_multipliers(x, p_, {keys.data(), keys.size()}));
  }

  bool stackable() const override { return true; }

  // The multipliers; the input is not needed, since they take no gradient.
  void count_kept(KeptMemory& memory) const override {
    if (p_ == 0) return;
    memory.extra_bytes(static_cast<double>(element_count(output)) * memory.element_bytes());
    memory.produce(output);
  }

 private:
  double p_;
  std::uint64_t purpose_;  // "dropout" and the layer's place, folded into each step's key
};

}  // namespace

void register_dropout(Registry& registry) {
  registry.add(
      Entry("nn.Dropout", "layer", "In training, zeroes elements at random and scales the others by 1/(1 − p).")
          .with(Option("p", "probability that an element is zeroed")
                    .number()
                    .at_least(0)
                    .less_than(1)
                    .or_default(0.5)
                    .positional())
          .example("nn.Dropout(0.1)")
          .note("Drawn from the fit's seed, the layer's place and the step: a resumed run drops the same "
                "elements. Srivastava et al. 2014."),
      LayerFactory([](const Options& options, LayerContext& context) -> std::unique_ptr<Layer> {
        return std::make_unique<Dropout>(options, context);
      }));
}

}  // namespace trainlab

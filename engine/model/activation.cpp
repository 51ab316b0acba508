// Activations: functions of single elements, and softmax along one axis.
#include <ATen/ops/elu.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/tanh.h>

#include "entries.h"
#include "model/layer.h"

namespace trainlab {

namespace {

// What an operator's derivative is written in.
enum class Keeps { input, output };

template <Keeps keeps>
class Activation : public Layer {
 public:
  explicit Activation(const LayerContext& context) { output = context.input(); }
  bool stackable() const override { return true; }
  void count_kept(KeptMemory& memory) const override {
    if constexpr (keeps == Keeps::input) memory.keep_current();
    memory.produce(output);
    if constexpr (keeps == Keeps::output) memory.keep_current();
  }
};

template <at::Tensor (*function)(const at::Tensor&), Keeps keeps>
class Plain final : public Activation<keeps> {
 public:
  Plain(const Options&, LayerContext& context) : Activation<keeps>(context) {}
  at::Tensor forward(const at::Tensor& x, const Pass&) const override { return function(x); }
};

class LeakyReLU final : public Activation<Keeps::input> {
 public:
  LeakyReLU(const Options& options, LayerContext& context)
      : Activation(context), slope_(options.number("negative_slope")) {}
  at::Tensor forward(const at::Tensor& x, const Pass&) const override { return at::leaky_relu(x, slope_); }

 private:
  at::Scalar slope_;
};

class ELU final : public Activation<Keeps::input> {
 public:
  ELU(const Options& options, LayerContext& context) : Activation(context), alpha_(options.number("alpha")) {}
  at::Tensor forward(const at::Tensor& x, const Pass&) const override { return at::elu(x, alpha_); }

 private:
  at::Scalar alpha_;
};

class GELU final : public Activation<Keeps::input> {
 public:
  GELU(const Options& options, LayerContext& context)
      : Activation(context), approximate_(options.string("approximate")) {}
  at::Tensor forward(const at::Tensor& x, const Pass&) const override { return at::gelu(x, approximate_); }

 private:
  std::string approximate_;
};

class Softplus final : public Activation<Keeps::input> {
 public:
  Softplus(const Options& options, LayerContext& context)
      : Activation(context), beta_(options.number("beta")), threshold_(options.number("threshold")) {}
  at::Tensor forward(const at::Tensor& x, const Pass&) const override { return at::softplus(x, beta_, threshold_); }

 private:
  at::Scalar beta_, threshold_;
};

template <bool logarithm>
class Softmax final : public Activation<Keeps::output> {
 public:
  Softmax(const Options& options, LayerContext& context) : Activation(context), dim_(options.integer("dim")) {
    const auto axes = static_cast<std::int64_t>(context.input().size());
    if (axes == 0) throw context.shape_error("an input of [features] or [..., features]");
    if (-dim_ > axes)
      throw context.shape_error("an input of at least " + std::to_string(-dim_) +
                                " axes for dim = " + std::to_string(dim_));
  }
  at::Tensor forward(const at::Tensor& x, const Pass&) const override {
    if constexpr (logarithm) {
      return at::log_softmax(x, dim_);
    } else {
      return at::softmax(x, dim_);
    }
  }

 private:
  std::int64_t dim_;  // negative, so that batch and member axes do not shift it
};

at::Tensor relu(const at::Tensor& x) { return at::relu(x); }
at::Tensor sigmoid(const at::Tensor& x) { return at::sigmoid(x); }
at::Tensor silu(const at::Tensor& x) { return at::silu(x); }
at::Tensor tanh(const at::Tensor& x) { return at::tanh(x); }

template <class T>
void add(Registry& registry, Entry entry) {
  registry.add(std::move(entry),
               LayerFactory([](const Options& options, LayerContext& context) -> std::unique_ptr<Layer> {
                 return std::make_unique<T>(options, context);
               }));
}

Option softmax_dim() {
  return Option("dim",
                "the axis that sums to one, counted from the end: -1 is the last (features), -3 the channels of images")
      .integer()
      .at_most(-1)
      .or_default(-1)
      .positional();
}

}  // namespace

void register_activation(Registry& registry) {
  add<Plain<relu, Keeps::output>>(registry, Entry("nn.ReLU", "layer", "max(0, x).").example("nn.ReLU()"));
  add<Plain<sigmoid, Keeps::output>>(registry,
                                     Entry("nn.Sigmoid", "layer", "1 / (1 + exp(−x)).").example("nn.Sigmoid()"));
  add<Plain<silu, Keeps::input>>(registry,
                                 Entry("nn.SiLU", "layer", "x·sigmoid(x), also called swish.").example("nn.SiLU()"));
  add<Plain<tanh, Keeps::output>>(registry, Entry("nn.Tanh", "layer", "Hyperbolic tangent.").example("nn.Tanh()"));

  add<LeakyReLU>(registry, Entry("nn.LeakyReLU", "layer", "x where positive, else negative_slope·x.")
                               .with(Option("negative_slope", "slope for x < 0").number().or_default(0.01).positional())
                               .example("nn.LeakyReLU(0.2)"));
  add<ELU>(registry, Entry("nn.ELU", "layer", "x where positive, else alpha·(exp(x) − 1).")
                         .with(Option("alpha", "minus the value for x → −∞").number().or_default(1.0).positional())
                         .example("nn.ELU()"));
  add<GELU>(registry,
            Entry("nn.GELU", "layer", "x·Φ(x) with the normal distribution function Φ.")
                .with(Option("approximate", "\"tanh\": by 0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))), which is faster")
                          .choice({"none", "tanh"})
                          .or_default("none"))
                .example("nn.GELU { approximate = \"tanh\" }")
                .note("Hendrycks and Gimpel 2016."));
  add<Softplus>(
      registry,
      Entry("nn.Softplus", "layer", "log(1 + exp(beta·x)) / beta, a smooth max(0, x).")
          .with(Option("beta", "sharpness").number().more_than(0).or_default(1.0).positional())
          .with(Option("threshold", "x itself where beta·x is larger than this").number().or_default(20.0).positional())
          .example("nn.Softplus()"));
  add<Softmax<false>>(registry, Entry("nn.Softmax", "layer", "exp(x) divided by its sum along one axis.")
                                    .with(softmax_dim())
                                    .example("nn.Softmax()")
                                    .note("The cross_entropy loss takes logits: it wants no softmax before it."));
  add<Softmax<true>>(registry, Entry("nn.LogSoftmax", "layer", "The logarithm of softmax along one axis.")
                                   .with(softmax_dim())
                                   .example("nn.LogSoftmax()"));
}

}  // namespace trainlab

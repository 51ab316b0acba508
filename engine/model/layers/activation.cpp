// Activations: functions of single elements, and softmax along one axis.
#include <ATen/ops/abs.h>
#include <ATen/ops/celu.h>
#include <ATen/ops/div.h>
#include <ATen/ops/elu.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/glu.h>
#include <ATen/ops/hardsigmoid.h>
#include <ATen/ops/hardswish.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/mish.h>
#include <ATen/ops/prelu.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/relu6.h>
#include <ATen/ops/selu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/tanh.h>

#include "init.h"
#include "model/layer.h"

namespace trainlab {

namespace {

// The tensor from which an operator's derivative is computed, and which is therefore kept for the backward pass.
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

class Hardtanh final : public Activation<Keeps::input> {
 public:
  Hardtanh(const Options& options, LayerContext& context)
      : Activation(context), low_(options.number("min_val")), high_(options.number("max_val")) {
    if (low_.toDouble() >= high_.toDouble()) {
      throw context.error("expected a min_val below max_val = " + number_text(high_.toDouble()) + ", found " +
                          number_text(low_.toDouble()));
    }
  }
  at::Tensor forward(const at::Tensor& x, const Pass&) const override { return at::hardtanh(x, low_, high_); }

 private:
  at::Scalar low_, high_;
};

class Softsign final : public Activation<Keeps::input> {
 public:
  Softsign(const Options&, LayerContext& context) : Activation(context) {}
  at::Tensor forward(const at::Tensor& x, const Pass&) const override { return at::div(x, at::abs(x).add(1)); }
  // The quotient keeps its denominator too.
  void count_kept(KeptMemory& memory) const override {
    Activation::count_kept(memory);
    memory.extra_bytes(static_cast<double>(element_count(output)) * memory.element_bytes());
  }
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

class CELU final : public Activation<Keeps::input> {
 public:
  CELU(const Options& options, LayerContext& context) : Activation(context), alpha_(options.number("alpha")) {}
  at::Tensor forward(const at::Tensor& x, const Pass&) const override { return at::celu(x, alpha_); }

 private:
  at::Scalar alpha_;
};

// Half of the last axis (of `dim`) gates the other.
class GLU final : public Layer {
 public:
  GLU(const Options& options, LayerContext& context) : dim_(options.integer("dim")) {
    output = context.input();
    const auto axis = static_cast<std::int64_t>(output.size()) + dim_;
    if (axis < 0 || output[static_cast<std::size_t>(axis)] % 2 != 0) {
      throw context.shape_error("an even number of elements along dim = " + std::to_string(dim_));
    }
    output[static_cast<std::size_t>(axis)] /= 2;
  }
  at::Tensor forward(const at::Tensor& x, const Pass&) const override { return at::glu(x, dim_); }
  bool stackable() const override { return true; }

 private:
  std::int64_t dim_;
};

class PReLU final : public Activation<Keeps::input> {
 public:
  PReLU(const Options& options, LayerContext& context) : Activation(context) {
    const std::int64_t count = options.integer("num_parameters");
    if (count != 1 && (output.empty() || output[0] != count)) {
      throw context.shape_error("an input of " + std::to_string(count) +
                                " channels (its first axis) for num_parameters = " + std::to_string(count));
    }
    slope_ = context.parameter("weight", {count}, constant(options.number("init")), false);
  }
  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    return at::prelu(x, in_type_of(x, pass.parameter(slope_)));  // the operator takes one type
  }
  bool stackable() const override { return false; }  // the operator takes one slope per channel

 private:
  std::size_t slope_ = 0;
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

at::Tensor hardsigmoid(const at::Tensor& x) { return at::hardsigmoid(x); }
at::Tensor hardswish(const at::Tensor& x) { return at::hardswish(x); }
at::Tensor log_sigmoid(const at::Tensor& x) { return at::log_sigmoid(x); }
at::Tensor mish(const at::Tensor& x) { return at::mish(x); }
at::Tensor relu(const at::Tensor& x) { return at::relu(x); }
at::Tensor relu6(const at::Tensor& x) { return at::relu6(x); }
at::Tensor selu(const at::Tensor& x) { return at::selu(x); }
at::Tensor sigmoid(const at::Tensor& x) { return at::sigmoid(x); }
at::Tensor silu(const at::Tensor& x) { return at::silu(x); }
at::Tensor tanh(const at::Tensor& x) { return at::tanh(x); }

template <class T>
void add(Registry& registry, Entry entry, LayerKind flags = {}) {
  registry.add(std::move(entry), layer_kind<T>(std::move(flags)));
}

template <class T>
void add(Registry& registry, Entry entry, Nonlinearity nonlinearity, bool has_exponential = false) {
  add<T>(registry, std::move(entry),
         LayerKind{.traits = {.nonlinearity = nonlinearity, .has_exponential = has_exponential}});
}

Option softmax_dim(std::string doc =
                       "the axis that sums to one, counted from the end: -1 is the last (features), -3 the channels "
                       "of images") {
  return Option("dim", std::move(doc)).integer().at_most(-1).or_default(-1).positional();
}

}  // namespace

void register_activation(Registry& registry) {
  add<Plain<relu, Keeps::output>>(registry, Entry("nn.ReLU", "layer", "max(0, x).").example("nn.ReLU()"),
                                  Nonlinearity::rectifier);
  add<Plain<sigmoid, Keeps::output>>(
      registry, Entry("nn.Sigmoid", "layer", "1 / (1 + exp(−x)).").example("nn.Sigmoid()"),
      {.applies = "sigmoid", .traits = {.nonlinearity = Nonlinearity::sigmoid, .has_exponential = true}});
  add<Plain<silu, Keeps::input>>(registry,
                                 Entry("nn.SiLU", "layer", "x·sigmoid(x), also called swish.").example("nn.SiLU()"),
                                 Nonlinearity::other, true);
  add<Plain<tanh, Keeps::output>>(registry, Entry("nn.Tanh", "layer", "Hyperbolic tangent.").example("nn.Tanh()"),
                                  Nonlinearity::tanh, true);

  add<Softsign>(registry, Entry("nn.Softsign", "layer", "x / (1 + |x|).").example("nn.Softsign()"));
  add<Hardtanh>(registry,
                Entry("nn.Hardtanh", "layer", "x, cut off at min_val and max_val.")
                    .with(Option("min_val", "smallest output").number().or_default(-1.0).positional())
                    .with(Option("max_val", "largest output").number().or_default(1.0).positional())
                    .example("nn.Hardtanh()"),
                Nonlinearity::other);
  add<LeakyReLU>(registry,
                 Entry("nn.LeakyReLU", "layer", "x where positive, else negative_slope·x.")
                     .with(Option("negative_slope", "slope for x < 0").number().or_default(0.01).positional())
                     .example("nn.LeakyReLU(0.2)"),
                 Nonlinearity::other);
  add<ELU>(registry,
           Entry("nn.ELU", "layer", "x where positive, else alpha·(exp(x) − 1).")
               .with(Option("alpha", "the output approaches −alpha for x → −∞").number().or_default(1.0).positional())
               .example("nn.ELU()"),
           Nonlinearity::other, true);
  add<GELU>(
      registry,
      Entry("nn.GELU", "layer", "x·Φ(x) with the normal distribution function Φ.")
          .with(Option("approximate", "\"tanh\": computes 0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))), which is faster")
                    .choice({"none", "tanh"})
                    .or_default("none"))
          .example("nn.GELU { approximate = \"tanh\" }")
          .note("Hendrycks and Gimpel 2016."),
      Nonlinearity::other, true);
  add<Softplus>(registry,
                Entry("nn.Softplus", "layer", "log(1 + exp(beta·x)) / beta, a smooth max(0, x).")
                    .with(Option("beta", "sharpness").number().more_than(0).or_default(1.0).positional())
                    .with(Option("threshold", "the output is x itself where beta·x is larger than this")
                              .number()
                              .or_default(20.0)
                              .positional())
                    .example("nn.Softplus()"),
                Nonlinearity::other, true);
  add<Plain<mish, Keeps::input>>(
      registry, Entry("nn.Mish", "layer", "x·tanh(softplus(x)).").example("nn.Mish()").note("Misra 2019."),
      Nonlinearity::other, true);
  add<Plain<selu, Keeps::output>>(registry,
                                  Entry("nn.SELU", "layer", "Scaled ELU that keeps mean 0 and variance 1.")
                                      .example("nn.SELU()")
                                      .note("Goes with init.kaiming_normal { nonlinearity = \"linear\" } and "
                                            "nn.AlphaDropout. Klambauer et al. 2017."),
                                  Nonlinearity::other, true);
  add<Plain<hardswish, Keeps::input>>(
      registry, Entry("nn.Hardswish", "layer", "x·min(max(x + 3, 0), 6) / 6.").example("nn.Hardswish()"));
  add<Plain<hardsigmoid, Keeps::input>>(
      registry, Entry("nn.Hardsigmoid", "layer", "min(max(x + 3, 0), 6) / 6.").example("nn.Hardsigmoid()"));
  add<Plain<relu6, Keeps::input>>(registry, Entry("nn.ReLU6", "layer", "min(max(0, x), 6).").example("nn.ReLU6()"),
                                  Nonlinearity::rectifier);
  add<Plain<log_sigmoid, Keeps::input>>(
      registry, Entry("nn.LogSigmoid", "layer", "log(1 / (1 + exp(−x))).").example("nn.LogSigmoid()"),
      {.applies = "sigmoid"});
  add<CELU>(registry,
            Entry("nn.CELU", "layer", "max(0, x) + min(0, alpha·(exp(x / alpha) − 1)).")
                .with(Option("alpha", "the output approaches −alpha for x → −∞")
                          .number()
                          .more_than(0)
                          .or_default(1.0)
                          .positional())
                .example("nn.CELU()"),
            Nonlinearity::other, true);
  add<GLU>(registry, Entry("nn.GLU", "layer", "The first half of an axis times sigmoid of the second half.")
                         .with(softmax_dim("the axis that is halved, counted from the end: -1 is the last (features)"))
                         .example("nn.GLU()")
                         .note("Dauphin et al. 2017."));
  add<PReLU>(registry,
             Entry("nn.PReLU", "layer", "x where positive, else a learned slope times x.")
                 .with(Option("num_parameters", "number of slopes: 1, or the number of channels (the first axis)")
                           .integer()
                           .at_least(1)
                           .or_default(1)
                           .positional())
                 .with(Option("init", "initial slope").number().or_default(0.25).positional())
                 .example("nn.PReLU()")
                 .note("He et al. 2015."));
  add<Softmax<false>>(registry,
                      Entry("nn.Softmax", "layer", "exp(x) divided by its sum along one axis.")
                          .with(softmax_dim())
                          .example("nn.Softmax()")
                          .note("The loss cross_entropy takes logits: put no softmax before it."),
                      {.applies = "softmax"});
  add<Softmax<true>>(registry,
                     Entry("nn.LogSoftmax", "layer", "The logarithm of softmax along one axis.")
                         .with(softmax_dim())
                         .example("nn.LogSoftmax()"),
                     {.applies = "softmax"});
}

}  // namespace trainlab

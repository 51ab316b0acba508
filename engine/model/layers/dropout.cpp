// nn.Dropout and its kin: in training, elements, channels or whole samples are zeroed with probability p and the others
// scaled by 1 / (1 − p).
#include "dropout.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/mul.h>

#include <algorithm>
#include <cmath>

#include "chain.h"
#include "tensor/own_node.h"
#include "tensor/random.h"

namespace trainlab {

namespace {

using Multipliers = std::function<at::Tensor()>;

// Multipliers have at least the digits of float32.
at::TensorOptions drawn_type(const at::TensorOptions& type) {
  return type.dtype() == at::kDouble ? type : type.dtype(at::kFloat);
}

// x·m, where the backward pass makes m again in place of keeping it.
at::Tensor multiplied(const at::Tensor& x, const Multipliers& multipliers);

class Multiplied final : public torch::autograd::Node {
 public:
  explicit Multiplied(Multipliers multipliers) : multipliers_(std::move(multipliers)) {}

  std::string name() const override { return "KeyedDropoutBackward"; }  // in profiles

  torch::autograd::variable_list apply(torch::autograd::variable_list&& upstream) override {
    return {multiplied(upstream[0], multipliers_)};
  }

 private:
  const Multipliers multipliers_;
};

at::Tensor multiplied(const at::Tensor& x, const Multipliers& multipliers) {
  at::Tensor y;
  {
    const at::AutoGradMode without_gradients(false);
    y = at::mul(x, multipliers());
  }
  if (is_differentiated(x)) add_node<Multiplied>(y, x, multipliers);
  return y;
}

}  // namespace

KeyedDropout::KeyedDropout(double p, LayerContext& context, std::string_view purpose)
    : p_(p), purpose_(Key(0).fold(purpose).fold(context.place()).bits()) {
  context.declare_drop(purpose_, p);
}

std::span<const double> KeyedDropout::rates(const Pass& pass) const {
  if (!pass.drop_rates) return {&p_, 1};
  const auto own = pass.drop_rates->find(purpose_);
  return own == pass.drop_rates->end() ? std::span(&p_, 1) : std::span<const double>(own->second);
}

bool KeyedDropout::acts(const Pass& pass) const {
  return pass.training && std::ranges::any_of(rates(pass), [](double p) { return p > 0; });
}

std::vector<Key> KeyedDropout::own_keys(const Pass& pass) const {
  std::vector<Key> keys;
  for (const Key& key : pass.keys) keys.push_back(key.fold(purpose_));
  return keys;
}

at::Tensor KeyedDropout::multipliers(at::IntArrayRef shape, const at::TensorOptions& type, const Pass& pass) const {
  return dropout_multipliers(shape, drawn_type(type), rates(pass), own_keys(pass));
}

at::Tensor KeyedDropout::operator()(const at::Tensor& x, const Pass& pass, const Change& change) const {
  if (!acts(pass)) return x;
  const std::span<const double> all = rates(pass);
  const auto multipliers = [shape = x.sizes().vec(), type = drawn_type(x.options()),
                            rates = std::vector(all.begin(), all.end()), keys = own_keys(pass), change] {
    const at::Tensor drawn = dropout_multipliers(shape, type, rates, keys);
    return change ? change(drawn) : drawn;
  };
  return in_type_of(x, multiplied(x, multipliers));
}

// The multipliers; the input is not needed, since they take no gradient.
void KeyedDropout::count_kept(KeptMemory& memory, double values) const {
  if (p_ > 0) memory.extra_bytes(values * memory.element_bytes());
}

Option dropout_option(std::string name, std::string doc) {
  return Option(std::move(name), std::move(doc)).number().at_least(0).less_than(1).by_member();
}

namespace {

// The unit that is dropped as a whole: an element, a channel (the first axis of a sample) or a sample.
enum class Dropped { element, channel, sample };

template <Dropped unit>
class Dropout final : public Layer {
 public:
  Dropout(const Options& options, LayerContext& context) : drop_(options.number("p"), context) {
    output = context.input();
    if (unit == Dropped::channel && output.size() < 2) throw context.shape_error("an input of [channels, length, …]");
  }

  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    if (!drop_.acts(pass)) return x;
    if constexpr (unit == Dropped::element) return drop_(x, pass);
    const std::size_t leading = pass.members() > 0 ? 2 : 1;
    Shape shape(x.sizes().begin(), x.sizes().end());
    for (std::size_t i = leading + (unit == Dropped::channel ? 1 : 0); i < shape.size(); ++i) shape[i] = 1;
    return in_type_of(x, at::mul(x, drop_.multipliers(shape, x.options(), pass)));
  }

  bool stackable() const override { return true; }

  void count_kept(KeptMemory& memory) const override {
    if (drop_.p() == 0) return;
    if (unit != Dropped::element)
      drop_.count_kept(memory, unit == Dropped::channel ? static_cast<double>(output[0]) : 1);
    memory.produce(output);
  }

 private:
  KeyedDropout drop_;
};

// Klambauer et al. 2017, section 3: dropped elements become −λα, and an affine map restores mean 0 and variance 1.
class AlphaDropout final : public Layer {
 public:
  AlphaDropout(const Options& options, LayerContext& context) : drop_(options.number("p"), context) {
    output = context.input();
    const double p = drop_.p(), low = -1.7580993408473766;
    scale_ = 1 / std::sqrt((1 - p) * (1 + p * low * low));
    shift_ = -scale_ * p * low;
    low_ = low;
  }
  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    if (!drop_.acts(pass)) return x;
    // 1 where kept, 0 where dropped
    const at::Tensor kept = drop_.multipliers(x.sizes(), x.options(), pass).mul_(1 - drop_.p());
    const at::Tensor constant = kept.neg().add_(1).mul_(low_ * scale_).add_(shift_);
    const auto scaled = [p = drop_.p(), scale = scale_](const at::Tensor& drawn) {
      return drawn.mul_(1 - p).mul_(scale);
    };
    return drop_(x, pass, scaled).add_(constant);
  }
  bool stackable() const override { return true; }
  void count_kept(KeptMemory& memory) const override {
    if (drop_.p() > 0) memory.produce(output);
  }

 private:
  KeyedDropout drop_;
  double scale_, shift_, low_;
};

class StochasticDepth final : public Layer {
 public:
  StochasticDepth(const Options& options, LayerContext& context)
      : body_(options.children("body"), context), drop_(options.number("p"), context, "depth") {
    output = context.input();
    if (body_.last().output != output) {
      throw context.error("expected layers that keep their input's shape " + shape_text(output) +
                          ", found an output of shape " + shape_text(body_.last().output));
    }
  }
  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    const at::Tensor y = body_.forward(x, pass);
    if (!drop_.acts(pass)) return at::add(x, y);
    const std::size_t leading = pass.members() > 0 ? 2 : 1;
    Shape shape(static_cast<std::size_t>(x.dim()), 1);
    for (std::size_t i = 0; i < leading; ++i) shape[i] = x.size(static_cast<std::int64_t>(i));
    return at::add(x, in_type_of(y, at::mul(y, drop_.multipliers(shape, x.options(), pass))));
  }
  bool stackable() const override { return body_.stackable(); }
  Flops flops() const override { return body_.flops(); }
  void count_kept(KeptMemory& memory) const override {
    body_.count_kept(memory);
    drop_.count_kept(memory, 1);
    memory.produce(output);
  }
  std::vector<const Layer*> children() const override { return body_.children(); }

 private:
  Chain body_;
  KeyedDropout drop_;
};

Option p_option(std::string doc) { return dropout_option("p", std::move(doc)).or_default(0.5).positional(); }

constexpr const char* keyed_note =
    "The draws depend on the fit's seed, the layer's place and the step alone: a resumed run drops the same elements.";

}  // namespace

void register_dropout(Registry& registry) {
  registry.add(
      Entry("nn.Dropout", "layer", "In training, zeroes elements at random and scales the others by 1/(1 − p).")
          .with(p_option("probability that an element is zeroed"))
          .example("nn.Dropout(0.1)")
          .note(std::string(keyed_note) + " Srivastava et al. 2014."),
      layer_kind<Dropout<Dropped::element>>());
  for (const auto& [name, input] :
       {std::pair("nn.Dropout1d", "[channels, length]"), std::pair("nn.Dropout2d", "[channels, height, width]")}) {
    registry.add(Entry(name, "layer", std::string("Dropout of whole channels of ") + input + ".")
                     .with(p_option("probability that a channel is zeroed"))
                     .example(std::string(name) + "(0.1)")
                     .note(keyed_note),
                 layer_kind<Dropout<Dropped::channel>>());
  }
  // The probability sets scale and shift of the layer too, which members share.
  Option alpha = p_option("probability that an element is dropped");
  alpha.is_by_member = false;
  registry.add(Entry("nn.AlphaDropout", "layer", "Dropout that keeps mean 0 and variance 1, for nn.SELU.")
                   .with(alpha)
                   .example("nn.AlphaDropout(0.1)")
                   .note(std::string(keyed_note) + " Klambauer et al. 2017."),
               layer_kind<AlphaDropout>());
  registry.add(Entry("nn.StochasticDepth", "layer",
                     "A residual chain that training leaves out at random, sample by sample: x + body(x)·keep/(1 − p).")
                   .with(Option("body", "the layers of the chain, in order").entry("layer").array().required())
                   .with(dropout_option("p", "probability that a sample skips the body").or_default(0.1))
                   .example("nn.StochasticDepth { p = 0.2, nn.Linear(64), nn.ReLU() }")
                   .note(std::string(keyed_note) + " Huang et al. 2016."),
               layer_kind<StochasticDepth>());
}

}  // namespace trainlab

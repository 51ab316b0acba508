// nn.SqueezeExcitation: channels weighed by what a small net sees of their means (Hu et al. 2018).
#include <ATen/ops/linear.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>

#include <algorithm>

#include "init.h"
#include "model/layer.h"

namespace trainlab {

namespace {

class SqueezeExcitation final : public Layer {
 public:
  SqueezeExcitation(const Options& options, LayerContext& context)
      : input_needs_gradient_(context.input_needs_gradient()) {
    output = context.input();
    if (output.size() < 2) throw context.shape_error("an input of [channels, height, width] or [channels, length]");
    channels_ = output[0];
    squeezed_ = std::max<std::int64_t>(1, channels_ / options.integer("reduction"));
    weights_[0] = context.parameter("fc1.weight", {squeezed_, channels_}, uniform_by_fan_in(channels_));
    biases_[0] = context.parameter("fc1.bias", {squeezed_}, uniform_by_fan_in(channels_), false);
    weights_[1] = context.parameter("fc2.weight", {channels_, squeezed_}, uniform_by_fan_in(squeezed_));
    biases_[1] = context.parameter("fc2.bias", {channels_}, uniform_by_fan_in(squeezed_), false);
  }

  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    const at::Tensor means = pass.operand(at::mean(x.flatten(2), -1));
    const at::Tensor hidden = at::relu(at::linear(means, pass.weight(weights_[0]), pass.weight(biases_[0])));
    at::Tensor scale = at::sigmoid(at::linear(hidden, pass.weight(weights_[1]), pass.weight(biases_[1])));
    while (scale.dim() < x.dim()) scale = scale.unsqueeze(-1);
    return at::mul(x, scale);
  }

  bool stackable() const override { return false; }  // it stands among convolutions, which are not

  Flops flops() const override {
    const double product = 2.0 * static_cast<double>(channels_) * static_cast<double>(squeezed_);
    return {2 * product, (input_needs_gradient_ ? 4 : 3) * product};
  }
  void count_kept(KeptMemory& memory) const override {
    memory.keep_current();
    memory.extra_bytes(static_cast<double>(2 * channels_ + squeezed_) *
                       memory.element_bytes());  // means, hidden, scale
    memory.produce(output);
  }

 private:
  std::int64_t channels_ = 0, squeezed_ = 0;
  std::size_t weights_[2] = {}, biases_[2] = {};
  bool input_needs_gradient_;
};

}  // namespace

void register_squeeze(Registry& registry) {
  registry.add(Entry("nn.SqueezeExcitation", "layer",
                     "Scales each channel by a factor that a small net computes from the means of all channels.")
                   .with(Option("reduction", "channels per hidden unit of the net")
                             .integer()
                             .at_least(1)
                             .or_default(16)
                             .positional())
                   .example("nn.SqueezeExcitation(8)")
                   .note("The factors are sigmoid(fc2(relu(fc1(means)))). Hu et al. 2018."),
               layer_kind<SqueezeExcitation>());
}

}  // namespace trainlab

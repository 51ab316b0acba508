// nn.Conv2d: cross-correlation of images with learned kernels.
#include <ATen/ops/conv2d.h>

#include <optional>

#include "entries.h"
#include "init.h"
#include "window.h"

namespace trainlab {

namespace {

class Conv2d final : public Layer {
 public:
  Conv2d(const Options& options, LayerContext& context)
      : groups_(options.integer("groups")), input_needs_gradient_(context.input_needs_gradient()) {
    const std::int64_t in = image_shape(context, "a convolution")[0];
    const std::int64_t out = options.integer("out_channels");
    if (in < 1) throw context.shape_error("an input of at least one channel");
    if (in % groups_ != 0 || out % groups_ != 0) {
      throw context.error("expected a number of groups that divides the " + std::to_string(in) + " input and " +
                          std::to_string(out) + " output channels, found groups = " + std::to_string(groups_));
    }
    window_.kernel = pair(options, "kernel_size");
    window_.stride = pair(options, "stride");
    window_.padding = pair(options, "padding");
    window_.dilation = pair(options, "dilation");
    output = window_output(context, window_, out);

    fan_in_ = in / groups_ * window_.kernel[0] * window_.kernel[1];
    weight_ = context.parameter("weight", {out, in / groups_, window_.kernel[0], window_.kernel[1]},
                                uniform_by_fan_in(fan_in_));
    if (options.boolean("bias")) bias_ = context.parameter("bias", {out}, uniform_by_fan_in(fan_in_), false);
  }

  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    std::optional<at::Tensor> bias;
    if (bias_) bias = pass.parameter(*bias_);
    return at::conv2d(x, pass.parameter(weight_), bias, window_.stride, window_.padding, window_.dilation, groups_);
  }

  // Members side by side would be a grouped convolution, which the CPU library computes group by group.
  bool stackable() const override { return false; }

  Flops flops() const override {
    const double products = 2.0 * static_cast<double>(element_count(output)) * static_cast<double>(fan_in_);
    return {products, input_needs_gradient_ ? 2 * products : products};
  }

 private:
  Window window_;
  std::int64_t groups_, fan_in_ = 0;
  std::size_t weight_ = 0;
  std::optional<std::size_t> bias_;
  bool input_needs_gradient_;
};

}  // namespace

void register_conv(Registry& registry) {
  registry.add(
      Entry("nn.Conv2d", "layer", "Convolution of images [channels, height, width].")
          .with(Option("out_channels", "number of kernels, and of output channels")
                    .integer()
                    .at_least(1)
                    .positional()
                    .required())
          .with(pair_option("kernel_size", "size of a kernel").at_least(1).in("pixels").positional().required())
          .with(pair_option("stride", "step between neighbouring places")
                    .at_least(1)
                    .in("pixels")
                    .or_default(Value::List{1, 1}))
          .with(pair_option("padding", "zeros added on each side")
                    .at_least(0)
                    .in("pixels")
                    .or_default(Value::List{0, 0}))
          .with(pair_option("dilation", "distance between a kernel's elements")
                    .at_least(1)
                    .in("pixels")
                    .or_default(Value::List{1, 1}))
          .with(Option("groups", "parts into which channels are divided, each convolved alone")
                    .integer()
                    .at_least(1)
                    .or_default(1))
          .with(Option("bias", "adds a learned bias to each channel").boolean().or_default(true))
          .example("nn.Conv2d(32, 3, { padding = 1 })")
          .note("The number of input channels is inferred. Weights and biases start uniform in ±1/√(inputs of one "
                "output), as PyTorch's do."),
      LayerFactory([](const Options& options, LayerContext& context) -> std::unique_ptr<Layer> {
        return std::make_unique<Conv2d>(options, context);
      }));
}

}  // namespace trainlab

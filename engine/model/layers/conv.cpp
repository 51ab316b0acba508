// nn.Conv1d, Conv2d, Conv3d and their transposes: cross-correlation with learned kernels; nn.SeparableConv2d.
#include <ATen/ops/convolution.h>
#include <ATen/ops/pad.h>

#include <algorithm>
#include <optional>

#include "build.h"
#include "init.h"
#include "window.h"

namespace trainlab {

namespace {

// Padding in the order of at::pad, which begins with the last axis.
Shape reversed_pads(const Window& window) {
  Shape pads;
  for (std::size_t i = window.axes(); i-- > 0;) {
    pads.push_back(window.before[i]);
    pads.push_back(window.after[i]);
  }
  return pads;
}

template <std::size_t axes, bool transposed>
class Conv final : public Layer {
 public:
  Conv(const Options& options, LayerContext& context)
      : groups_(options.integer("groups")),
        mode_(transposed || options.string("padding_mode") == "zeros" ? "constant" : options.string("padding_mode")),
        input_needs_gradient_(context.input_needs_gradient()) {
    const Shape& input = windowed_input(context, "a convolution", axes);
    const std::int64_t in = input[0], out = options.integer("out_channels");
    if (in < 1) throw context.shape_error("an input of at least one channel");
    if (in % groups_ != 0 || out % groups_ != 0) {
      throw context.error("expected a number of groups that divides the " + std::to_string(in) + " input and " +
                          std::to_string(out) + " output channels, found groups = " + std::to_string(groups_));
    }
    window_.kernel = options.integers("kernel_size");
    window_.stride = options.integers("stride");
    window_.dilation = options.integers("dilation");
    set_padding(options, context);
    if constexpr (transposed) {
      set_transposed_output(options, context, out);
    } else {
      output = window_output(context, window_, out);
    }
    explicit_pad_ = !window_.symmetric() || mode_ != "constant";

    // Transposed ones hold a kernel for each input channel; PyTorch's fan is the second axis there too.
    Shape shape = transposed ? Shape{in, out / groups_} : Shape{out, in / groups_};
    shape.insert(shape.end(), window_.kernel.begin(), window_.kernel.end());
    const std::int64_t fan_in = element_count(shape) / shape[0];
    weight_ = context.parameter("weight", shape, weight_init(options, shape, uniform_by_fan_in(fan_in)));
    if (options.boolean("bias")) bias_ = context.parameter("bias", {out}, uniform_by_fan_in(fan_in), false);
    // Each kernel element meets each place of the output, or of the input where it is transposed.
    products_ = 2.0 * static_cast<double>(element_count(transposed ? input : output)) * static_cast<double>(fan_in);
  }

  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    std::optional<at::Tensor> bias;
    if (bias_) bias = pass.weight(*bias_);
    const at::Tensor in = pass.operand(x);
    at::Tensor padded = explicit_pad_ ? at::pad(in, reversed_pads(window_), mode_) : in;
    // A tensor on "meta" stands for one of the CPU.
    if (channels_last(in.scalar_type() == at::kFloat && (in.device().is_cpu() || in.is_meta())))
      padded = padded.contiguous(at::MemoryFormat::ChannelsLast);
    const Shape none(axes, 0);
    return at::convolution(padded, pass.weight(weight_), bias, window_.stride, explicit_pad_ ? none : window_.before,
                           window_.dilation, transposed, transposed ? output_padding_ : none, groups_);
  }

  // Members side by side would be a grouped convolution. That saves time only with images of 8 × 8 and few channels,
  // and for more groups the CPU's library takes another algorithm, so that the bits of a member would depend on the
  // number of other members in its stack (tools/bench/figures/bench_stacks.cpp measures both).
  bool stackable() const override { return false; }

  Flops flops() const override { return {products_, input_needs_gradient_ ? 2 * products_ : products_}; }

  void count_kept(KeptMemory& memory) const override {
    Shape padded = input_shape;
    if (explicit_pad_) {
      for (std::size_t i = 0; i < axes; ++i) padded[i + 1] += window_.before[i] + window_.after[i];
      memory.produce(padded);
    }
    if (channels_last(memory.element_bytes() == sizeof(float)) && padded[0] > 1) memory.put_channels_last(padded);
    Layer::count_kept(memory);
  }

 private:
  // With the channels of a place side by side the CPU's library for float32 needs no copies of its own before and after
  // each layer, and the layers between keep this order. Measured: 1.05 to 1.35 times the speed of whole training steps.
  static constexpr bool channels_last(bool cpu_float) { return axes == 2 && !transposed && cpu_float; }

  // "same" pads so that a window of stride 1 has as many places as the input; an odd element goes after it.
  void set_padding(const Options& options, const LayerContext& context) {
    const Value::List& padding = options.get("padding").list();
    for (std::size_t i = 0; i < axes; ++i) {
      if (!padding[i].is_string()) {
        window_.before.push_back(padding[i].integer());
        window_.after.push_back(padding[i].integer());
        continue;
      }
      if (window_.stride[i] != 1) {
        throw context.error("padding \"same\" goes with stride 1, found stride " + shape_text(window_.stride));
      }
      const std::int64_t both = window_.dilation[i] * (window_.kernel[i] - 1);
      window_.before.push_back(both / 2);
      window_.after.push_back(both - both / 2);
    }
    const std::int64_t limit = mode_ == "reflect" ? -1 : mode_ == "circular" ? 0 : INT64_MAX / 2;
    for (std::size_t i = 0; i < axes; ++i) {
      const std::int64_t size = context.input()[i + 1];
      if (limit <= 0 && std::max(window_.before[i], window_.after[i]) > size + limit) {
        throw context.error("padding_mode \"" + mode_ +
                            "\" takes its values from the input: expected a padding of at most " +
                            std::to_string(size + limit) + ", found " + shape_text(window_.after));
      }
    }
  }

  void set_transposed_output(const Options& options, const LayerContext& context, std::int64_t out) {
    // The CPU's library takes memory by the square of the stride, and ends the process from 32768 on.
    constexpr std::int64_t most = 4096;
    if (std::ranges::any_of(window_.stride, [](std::int64_t stride) { return stride > most; })) {
      throw context.error("expected a stride of at most " + std::to_string(most) + ", found " +
                          shape_text(window_.stride));
    }
    output_padding_ = options.integers("output_padding");
    output = {out};
    for (std::size_t i = 0; i < axes; ++i) {
      if (output_padding_[i] >= std::max(window_.stride[i], window_.dilation[i])) {
        throw context.error("expected an output_padding below stride or dilation, found " +
                            shape_text(output_padding_));
      }
      const std::int64_t span = window_.dilation[i] * (window_.kernel[i] - 1) + 1;
      const std::int64_t size =
          (context.input()[i + 1] - 1) * window_.stride[i] - 2 * window_.before[i] + span + output_padding_[i];
      if (size < 1) {
        throw context.shape_error("a larger input, or less padding than " + shape_text(window_.before));
      }
      output.push_back(size);
    }
  }

  Window window_;
  std::int64_t groups_;
  std::string mode_;  // of at::pad
  bool explicit_pad_ = false;
  Shape output_padding_;
  std::size_t weight_ = 0;
  std::optional<std::size_t> bias_;
  bool input_needs_gradient_;
  double products_ = 0;
};

class SeparableConv2d final : public Layer {
 public:
  SeparableConv2d(const Options& options, LayerContext& context) {
    const Shape& input = windowed_input(context, "a convolution", 2);
    Value::Map depth = {{"out_channels", input[0]}, {"groups", input[0]}, {"bias", false}};
    for (const char* name : {"kernel_size", "stride", "padding", "dilation"}) depth.emplace(name, options.get(name));
    depthwise_ = context.child(made_spec(options, "Conv2d", std::move(depth)), context.incoming(), "depthwise");
    Value::Map point = {
        {"out_channels", options.get("out_channels")}, {"kernel_size", 1}, {"bias", options.get("bias")}};
    pointwise_ = context.child(made_spec(options, "Conv2d", std::move(point)), depthwise_->outgoing(), "pointwise");
    output = pointwise_->output;
  }
  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    return forward_checked(*pointwise_, forward_checked(*depthwise_, x, pass), pass);
  }
  bool stackable() const override { return false; }
  Flops flops() const override {
    Flops sum = depthwise_->flops();
    return sum += pointwise_->flops();
  }
  void count_kept(KeptMemory& memory) const override {
    depthwise_->count_kept(memory);
    pointwise_->count_kept(memory);
  }
  std::vector<const Layer*> children() const override { return {depthwise_.get(), pointwise_.get()}; }

 private:
  std::unique_ptr<Layer> depthwise_, pointwise_;
};

Option channels_option() {
  return Option("out_channels", "number of kernels, and of output channels")
      .integer()
      .at_least(1)
      .positional()
      .required();
}
Option bias_option() { return Option("bias", "adds a learned bias to each channel").boolean().or_default(true); }
Option window_option(std::string name, std::string doc, std::size_t axes, int least) {
  return sizes_option(std::move(name), std::move(doc), axes).at_least(least).in("pixels");
}
Option same_option(std::size_t axes) {
  return window_option("padding", "zeros added on each side; \"same\": as many zeros as keep the size", axes, 0)
      .choice({"same"})
      .or_default(each(0, axes));
}

Entry windowed(std::string name, std::string doc, std::size_t axes) {
  return Entry(std::move(name), "layer", std::move(doc))
      .with(channels_option())
      .with(window_option("kernel_size", "size of a kernel", axes, 1).positional().required())
      .with(window_option("stride", "step between neighbouring places", axes, 1).or_default(each(1, axes)))
      .with(window_option("dilation", "distance between a kernel's elements", axes, 1).or_default(each(1, axes)));
}

Entry conv(std::string name, std::string doc, std::size_t axes) {
  return windowed(std::move(name), std::move(doc), axes)
      .with(Option("groups", "parts into which channels are divided, each convolved alone")
                .integer()
                .at_least(1)
                .or_default(1))
      .with(bias_option())
      .with(init_option());
}

constexpr LayerTraits convolution{.is_convolution = true};

template <std::size_t axes>
void add(Registry& registry) {
  const std::string d = std::to_string(axes) + "d";
  registry.add(
      conv("nn.Conv" + d, "Convolution of " + axes_text(axes) + ".", axes)
          .with(same_option(axes))
          .with(Option("padding_mode", "what is added: zeros, or values of the input")
                    .choice({"zeros", "reflect", "replicate", "circular"})
                    .or_default("zeros"))
          .example("nn.Conv" + d + "(32, 3, { padding = 1 })")
          .note("The number of input channels is inferred. Weights and biases start uniform in ±1/√(inputs of one "
                "output), as PyTorch's do."),
      layer_kind<Conv<axes, false>>({.width = "out_channels", .traits = convolution}));
  registry.add(
      conv("nn.ConvTranspose" + d, "Transposed convolution of " + axes_text(axes) + "; a stride enlarges the output.",
           axes)
          .with(
              window_option("padding", "pixels cut off on each side of the output", axes, 0).or_default(each(0, axes)))
          .with(window_option("output_padding", "pixels added to the output's end, fewer than the stride", axes, 0)
                    .or_default(each(0, axes)))
          .example("nn.ConvTranspose" + d + "(16, 4, { stride = 2, padding = 1 })")
          .note("A size n becomes (n − 1)·stride − 2·padding + dilation·(kernel_size − 1) + output_padding + 1."),
      layer_kind<Conv<axes, true>>({.width = "out_channels", .outputs_axis = 1, .traits = convolution}));
}

}  // namespace

void register_conv(Registry& registry) {
  add<1>(registry);
  add<2>(registry);
  add<3>(registry);
  registry.add(
      windowed("nn.SeparableConv2d", "Convolution of each channel alone, then of each pixel over all channels.", 2)
          .with(same_option(2))
          .with(bias_option())
          .example("nn.SeparableConv2d(64, 3, { padding = \"same\" })")
          .note("Has far fewer weights and products than nn.Conv2d. Chollet 2017."),
      layer_kind<SeparableConv2d>({.width = "out_channels", .traits = convolution}));
}

}  // namespace trainlab

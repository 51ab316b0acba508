// Pools: the largest or the mean of windows over one, two or three axes.
#include <ATen/ops/adaptive_avg_pool1d.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/adaptive_avg_pool3d.h>
#include <ATen/ops/adaptive_max_pool1d.h>
#include <ATen/ops/adaptive_max_pool2d.h>
#include <ATen/ops/adaptive_max_pool3d.h>
#include <ATen/ops/avg_pool1d.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/avg_pool3d.h>
#include <ATen/ops/max_pool1d.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/max_pool3d.h>

#include "window.h"

namespace trainlab {

namespace {

Window pool_window(const Options& options, const LayerContext& context) {
  Window window;
  window.kernel = options.integers("kernel_size");
  window.stride = options.has("stride") ? options.integers("stride") : window.kernel;
  window.before = window.after = options.integers("padding");
  window.dilation = Shape(window.kernel.size(), 1);
  window.ceil = options.boolean("ceil_mode");
  for (std::size_t i = 0; i < window.axes(); ++i) {
    if (2 * window.before[i] > window.kernel[i]) {
      throw context.error("expected a padding of at most half the kernel, found padding " + shape_text(window.before) +
                          " for a kernel of " + shape_text(window.kernel));
    }
  }
  return window;
}

// Places of maxima, int64.
double place_bytes(const Shape& output) { return 8.0 * static_cast<double>(element_count(output)); }

template <std::size_t axes>
class MaxPool final : public Layer {
 public:
  MaxPool(const Options& options, LayerContext& context) {
    const Shape& input = windowed_input(context, "a pool", axes);
    window_ = pool_window(options, context);
    window_.dilation = options.integers("dilation");
    output = window_output(context, window_, input[0]);
  }
  at::Tensor forward(const at::Tensor& x, const Pass&) const override {
    const auto& [kernel, stride, dilation, before, after, ceil] = window_;
    if constexpr (axes == 1) {
      return at::max_pool1d(x, kernel, stride, before, dilation, ceil);
    } else if constexpr (axes == 2) {
      return at::max_pool2d(x, kernel, stride, before, dilation, ceil);
    } else {
      return at::max_pool3d(x, kernel, stride, before, dilation, ceil);
    }
  }
  bool stackable() const override { return false; }
  void count_kept(KeptMemory& memory) const override {
    Layer::count_kept(memory);
    memory.extra_bytes(place_bytes(output));
  }

 private:
  Window window_;
};

template <std::size_t axes>
class AvgPool final : public Layer {
 public:
  AvgPool(const Options& options, LayerContext& context) : count_padding_(options.boolean("count_include_pad")) {
    const Shape& input = windowed_input(context, "a pool", axes);
    window_ = pool_window(options, context);
    output = window_output(context, window_, input[0]);
  }
  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    const auto& [kernel, stride, dilation, before, after, ceil] = window_;
    if constexpr (axes == 1) {
      return at::avg_pool1d(x, kernel, stride, before, ceil, count_padding_);
    } else if constexpr (axes == 2) {
      return at::avg_pool2d(x, kernel, stride, before, ceil, count_padding_);
    } else {
      // The CPU has no such operator for 16 bits.
      return in_type_of(x, at::avg_pool3d(pass.in_full(x), kernel, stride, before, ceil, count_padding_));
    }
  }
  bool stackable() const override { return false; }

 private:
  Window window_;
  bool count_padding_;
};

template <std::size_t axes, bool largest>
class AdaptivePool final : public Layer {
 public:
  AdaptivePool(const Options& options, LayerContext& context) : size_(options.integers("output_size")) {
    output = size_;
    output.insert(output.begin(), windowed_input(context, "a pool", axes)[0]);
  }
  at::Tensor forward(const at::Tensor& x, const Pass&) const override {
    if constexpr (largest && axes == 1) {
      return std::get<0>(at::adaptive_max_pool1d(x, size_));
    } else if constexpr (largest && axes == 2) {
      return std::get<0>(at::adaptive_max_pool2d(x, size_));
    } else if constexpr (largest) {
      return std::get<0>(at::adaptive_max_pool3d(x, size_));
    } else if constexpr (axes == 1) {
      return at::adaptive_avg_pool1d(x, size_);
    } else if constexpr (axes == 2) {
      return at::adaptive_avg_pool2d(x, size_);
    } else {
      return at::adaptive_avg_pool3d(x, size_);
    }
  }
  bool stackable() const override { return false; }
  void count_kept(KeptMemory& memory) const override {
    Layer::count_kept(memory);
    if (largest) memory.extra_bytes(place_bytes(output));
  }

 private:
  Shape size_;
};

Option sized(std::string name, std::string doc, std::size_t axes, int least) {
  return sizes_option(std::move(name), std::move(doc), axes).at_least(least).in("pixels").positional();
}
Option kernel_option(std::size_t axes) { return sized("kernel_size", "size of a window", axes, 1).required(); }
Option stride_option(std::size_t axes) {
  return sized("stride", "step between windows (default: kernel_size)", axes, 1);
}
Option padding_option(const std::string& with, std::size_t axes) {
  return sized("padding", with + " added on each side, at most half the kernel", axes, 0).or_default(each(0, axes));
}
Option ceil_option() {
  return Option("ceil_mode", "keeps a last window that hangs over the edge").boolean().or_default(false).positional();
}

template <std::size_t axes>
void add(Registry& registry) {
  const std::string d = std::to_string(axes) + "d", input = axes_text(axes) + ".";
  registry.add(Entry("nn.MaxPool" + d, "layer", "The largest element of each window of " + input)
                   .with(kernel_option(axes))
                   .with(stride_option(axes))
                   .with(padding_option("minus infinity", axes))
                   .with(sized("dilation", "distance between a window's elements", axes, 1).or_default(each(1, axes)))
                   .with(ceil_option())
                   .example("nn.MaxPool" + d + "(2)"),
               layer_kind<MaxPool<axes>>());
  registry.add(Entry("nn.AvgPool" + d, "layer", "The mean of each window of " + input)
                   .with(kernel_option(axes))
                   .with(stride_option(axes))
                   .with(padding_option("zeros", axes))
                   .with(ceil_option())
                   .with(Option("count_include_pad", "the padding's zeros count in the mean")
                             .boolean()
                             .or_default(true)
                             .positional())
                   .example("nn.AvgPool" + d + "(2)"),
               layer_kind<AvgPool<axes>>());
  registry.add(Entry("nn.AdaptiveAvgPool" + d, "layer", "The means of a fixed number of equal parts of " + input)
                   .with(sizes_option("output_size", "number of parts", axes).at_least(1).positional().required())
                   .example("nn.AdaptiveAvgPool" + d + "(1)"),
               layer_kind<AdaptivePool<axes, false>>());
  registry.add(
      Entry("nn.AdaptiveMaxPool" + d, "layer", "The largest elements of a fixed number of equal parts of " + input)
          .with(sizes_option("output_size", "number of parts", axes).at_least(1).positional().required())
          .example("nn.AdaptiveMaxPool" + d + "(1)"),
      layer_kind<AdaptivePool<axes, true>>());
}

}  // namespace

void register_pool(Registry& registry) {
  add<1>(registry);
  add<2>(registry);
  add<3>(registry);
}

}  // namespace trainlab

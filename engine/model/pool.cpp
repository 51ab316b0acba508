// Pools: the largest or the mean of windows of images.
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/max_pool2d.h>

#include "entries.h"
#include "window.h"

namespace trainlab {

namespace {

Window pool_window(const Options& options, const LayerContext& context) {
  Window window;
  window.kernel = pair(options, "kernel_size");
  window.stride = options.has("stride") ? pair(options, "stride") : window.kernel;
  window.padding = pair(options, "padding");
  window.ceil = options.boolean("ceil_mode");
  for (std::size_t i = 0; i < 2; ++i) {
    if (2 * window.padding[i] > window.kernel[i]) {
      throw context.error("expected a padding of at most half the kernel, found padding " + shape_text(window.padding) +
                          " for a kernel of " + shape_text(window.kernel));
    }
  }
  return window;
}

class MaxPool2d final : public Layer {
 public:
  MaxPool2d(const Options& options, LayerContext& context) {
    const Shape input = image_shape(context, "a pool");
    window_ = pool_window(options, context);
    window_.dilation = pair(options, "dilation");
    output = window_output(context, window_, input[0]);
  }
  at::Tensor forward(const at::Tensor& x, const Pass&) const override {
    return at::max_pool2d(x, window_.kernel, window_.stride, window_.padding, window_.dilation, window_.ceil);
  }
  bool stackable() const override { return false; }
  void count_kept(KeptMemory& memory) const override {
    Layer::count_kept(memory);
    memory.extra_bytes(8.0 * static_cast<double>(element_count(output)));  // places of the maxima, int64
  }

 private:
  Window window_;
};

class AvgPool2d final : public Layer {
 public:
  AvgPool2d(const Options& options, LayerContext& context) : count_padding_(options.boolean("count_include_pad")) {
    const Shape input = image_shape(context, "a pool");
    window_ = pool_window(options, context);
    output = window_output(context, window_, input[0]);
  }
  at::Tensor forward(const at::Tensor& x, const Pass&) const override {
    return at::avg_pool2d(x, window_.kernel, window_.stride, window_.padding, window_.ceil, count_padding_);
  }
  bool stackable() const override { return false; }

 private:
  Window window_;
  bool count_padding_;
};

class AdaptiveAvgPool2d final : public Layer {
 public:
  AdaptiveAvgPool2d(const Options& options, LayerContext& context) : size_(pair(options, "output_size")) {
    const Shape input = image_shape(context, "a pool");
    output = {input[0], size_[0], size_[1]};
  }
  at::Tensor forward(const at::Tensor& x, const Pass&) const override { return at::adaptive_avg_pool2d(x, size_); }
  bool stackable() const override { return false; }

 private:
  Pair size_;
};

template <class T>
void add(Registry& registry, Entry entry) {
  registry.add(std::move(entry),
               LayerFactory([](const Options& options, LayerContext& context) -> std::unique_ptr<Layer> {
                 return std::make_unique<T>(options, context);
               }));
}

Option kernel_option() {
  return pair_option("kernel_size", "size of a window").at_least(1).in("pixels").positional().required();
}
Option stride_option() {
  return pair_option("stride", "step between windows, kernel_size unless given").at_least(1).in("pixels").positional();
}
Option padding_option(const std::string& with) {
  return pair_option("padding", with + " added on each side, at most half the kernel")
      .at_least(0)
      .in("pixels")
      .or_default(Value::List{0, 0})
      .positional();
}
Option ceil_option() {
  return Option("ceil_mode", "keeps a last window that hangs over the edge").boolean().or_default(false).positional();
}

}  // namespace

void register_pool(Registry& registry) {
  add<MaxPool2d>(registry, Entry("nn.MaxPool2d", "layer", "The largest element of each window of an image.")
                               .with(kernel_option())
                               .with(stride_option())
                               .with(padding_option("minus infinity"))
                               .with(pair_option("dilation", "distance between a window's elements")
                                         .at_least(1)
                                         .in("pixels")
                                         .or_default(Value::List{1, 1})
                                         .positional())
                               .with(ceil_option())
                               .example("nn.MaxPool2d(2)"));
  add<AvgPool2d>(registry, Entry("nn.AvgPool2d", "layer", "The mean of each window of an image.")
                               .with(kernel_option())
                               .with(stride_option())
                               .with(padding_option("zeros"))
                               .with(ceil_option())
                               .with(Option("count_include_pad", "the padding's zeros count in the mean")
                                         .boolean()
                                         .or_default(true)
                                         .positional())
                               .example("nn.AvgPool2d(2)"));
  add<AdaptiveAvgPool2d>(
      registry, Entry("nn.AdaptiveAvgPool2d", "layer", "The means of a fixed number of equal parts of an image.")
                    .with(pair_option("output_size", "number of parts").at_least(1).positional().required())
                    .example("nn.AdaptiveAvgPool2d(1)"));
}

}  // namespace trainlab

// nn.Unfold and nn.Fold: the windows of an image as columns, and columns summed to an image.
#include <ATen/ops/col2im.h>
#include <ATen/ops/im2col.h>

#include <algorithm>

#include "window.h"

namespace trainlab {

namespace {

Window fold_window(const Options& options) {
  Window window;
  window.kernel = options.integers("kernel_size");
  window.dilation = options.integers("dilation");
  window.before = window.after = options.integers("padding");
  window.stride = options.integers("stride");
  return window;
}

class Unfold final : public Layer {
 public:
  Unfold(const Options& options, LayerContext& context) : window_(fold_window(options)) {
    const Shape& input = windowed_input(context, "an unfolding", 2);
    const Shape places = window_output(context, window_, input[0]);
    output = {input[0] * element_count(window_.kernel), places[1] * places[2]};
  }
  at::Tensor forward(const at::Tensor& x, const Pass&) const override {
    return at::im2col(x, window_.kernel, window_.dilation, window_.before, window_.stride);
  }
  bool stackable() const override { return false; }
  void count_kept(KeptMemory& memory) const override { memory.produce(output); }

 private:
  Window window_;
};

class Fold final : public Layer {
 public:
  Fold(const Options& options, LayerContext& context)
      : window_(fold_window(options)), size_(options.integers("output_size")) {
    const Shape& input = context.input();
    const std::int64_t elements = element_count(window_.kernel);
    const Shape places = window_.places(size_);
    const std::int64_t count = places[0] * places[1];
    if (count < 1) {
      throw context.error("expected an output_size of at least one window, found " + shape_text(size_) +
                          " for a kernel of " + shape_text(window_.kernel) + " and padding " +
                          shape_text(window_.before));
    }
    if (input.size() != 2 || input[0] < 1 || input[0] % elements != 0 || input[1] != count) {
      throw context.shape_error("an input of [channels · " + std::to_string(elements) + ", " + std::to_string(count) +
                                "], the windows of an output of " + shape_text(size_));
    }
    output = {input[0] / elements, size_[0], size_[1]};
  }
  at::Tensor forward(const at::Tensor& x, const Pass&) const override {
    return at::col2im(x, size_, window_.kernel, window_.dilation, window_.before, window_.stride);
  }
  bool stackable() const override { return false; }
  void count_kept(KeptMemory& memory) const override { memory.produce(output); }

 private:
  Window window_;
  Shape size_;
};

Option fold_option(std::string name, std::string doc, int least) {
  return sizes_option(std::move(name), std::move(doc), 2).at_least(least).in("pixels").positional();
}

Entry with_windows(Entry entry) {
  return entry.with(fold_option("kernel_size", "size of a window", 1).required())
      .with(fold_option("dilation", "distance between a window's elements", 1).or_default(each(1, 2)))
      .with(fold_option("padding", "zeros round the image on each side", 0).or_default(each(0, 2)))
      .with(fold_option("stride", "step between neighbouring windows", 1).or_default(each(1, 2)));
}

}  // namespace

void register_fold(Registry& registry) {
  registry.add(
      with_windows(Entry("nn.Unfold", "layer", "The windows of [channels, height, width] as columns."))
          .example("nn.Unfold(4, { stride = 4 })")
          .note("The output is [channels · elements of a window, windows]; both run row by row. nn.Transpose() "
                "after it makes a sequence of patches."),
      layer_kind<Unfold>());
  registry.add(
      with_windows(
          Entry("nn.Fold", "layer", "Sums the columns of [channels · elements of a window, windows] to an image.")
              .with(fold_option("output_size", "size of the image", 1).required()))
          .example("nn.Fold({ 8, 8 }, 4, { stride = 4 })")
          .note("Puts back what nn.Unfold with the same options took: where windows overlap, their values are added."),
      layer_kind<Fold>());
}

}  // namespace trainlab

// Windows that slide over the last one, two or three axes, for convolutions and pools.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "model/layer.h"

namespace trainlab {

// An option that takes an integer or a list of one for each of `axes` axes.
Option sizes_option(std::string name, std::string doc, std::size_t axes);
// A default of n for each.
Value::List each(std::int64_t n, std::size_t axes);

// One number per axis.
struct Window {
  Shape kernel, stride, dilation;
  Shape before, after;  // padding
  bool ceil = false;    // a last window may hang over the edge

  std::size_t axes() const { return kernel.size(); }
  bool symmetric() const { return before == after; }
  // Places of the window on an input of these sizes, by the formula in PyTorch's documentation of Conv2d and
  // MaxPool2d; a last window of `ceil` must start inside the input or the padding before it.
  Shape places(const Shape& sizes) const;
};

// "[channels, height, width]" for two axes.
std::string axes_text(std::size_t axes);

// The context's input as channels and `axes` sizes, or its error, with `what` ("a convolution") in the hint.
const Shape& windowed_input(const LayerContext& context, const std::string& what, std::size_t axes);

// Channels and places as a shape; an error when the window is larger than the padded input.
Shape window_output(const LayerContext& context, const Window& window, std::int64_t channels);

// Without the first element: sizes of [channels, sizes…].
Shape sizes_of(const Shape& input);

}  // namespace trainlab

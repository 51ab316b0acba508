// Windows that slide over the last two axes of images: what convolutions and pools have in common.
#pragma once

#include <array>
#include <cstdint>

#include "model/layer.h"

namespace trainlab {

using Pair = std::array<std::int64_t, 2>;  // height, width

// Options that take an integer or a list of two.
Option pair_option(std::string name, std::string doc);
Pair pair(const Options& options, std::string_view name);

struct Window {
  Pair kernel{1, 1}, stride{1, 1}, padding{0, 0}, dilation{1, 1};
  bool ceil = false;  // a last window may hang over the edge

  // Places of the window on an image of height and width `size`, by the formula in PyTorch's documentation of Conv2d
  // and MaxPool2d; a last window of `ceil` must start inside the image or its left padding.
  Pair places(const Pair& size) const;
};

// The context's input as [channels, height, width], or its error, with `what` ("a convolution") in the hint.
Shape image_shape(const LayerContext& context, const std::string& what);

// Channels and places as a shape; an error when the window is larger than the padded image.
Shape window_output(const LayerContext& context, const Window& window, std::int64_t channels);

}  // namespace trainlab

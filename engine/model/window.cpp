#include "window.h"

namespace trainlab {

Option pair_option(std::string name, std::string doc) {
  return Option(std::move(name), std::move(doc) + "; one for both axes, or { height, width }").integer().many(2);
}

Pair pair(const Options& options, std::string_view name) {
  const std::vector<std::int64_t> both = options.integers(name);
  return {both.at(0), both.at(1)};
}

Pair Window::places(const Pair& size) const {
  Pair count;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t span = dilation[i] * (kernel[i] - 1) + 1;
    const std::int64_t room = size[i] + 2 * padding[i] - span;
    if (room < 0) {
      count[i] = 0;
      continue;
    }
    count[i] = (room + (ceil ? stride[i] - 1 : 0)) / stride[i] + 1;
    if (ceil && (count[i] - 1) * stride[i] >= size[i] + padding[i]) --count[i];
  }
  return count;
}

Shape image_shape(const LayerContext& context, const std::string& what) {
  if (context.input().size() == 3) return context.input();
  Error error = context.shape_error("an input of [channels, height, width]");
  if (context.input().size() == 1) {
    error.hint(what + " needs images: is there an nn.Flatten before it, or does the data have flat rows?");
  } else if (context.input().size() == 2) {
    error.hint(what + " needs a channel axis too: [1, height, width] for grey images");
  }
  throw error;
}

Shape window_output(const LayerContext& context, const Window& window, std::int64_t channels) {
  const Shape& input = context.input();
  const Pair places = window.places({input[1], input[2]});
  if (places[0] > 0 && places[1] > 0) return {channels, places[0], places[1]};
  Shape smallest = input;
  for (std::size_t i = 0; i < 2; ++i) {
    smallest[i + 1] =
        std::max<std::int64_t>(1, window.dilation[i] * (window.kernel[i] - 1) + 1 - 2 * window.padding[i]);
  }
  throw context
      .shape_error("an input of at least " + shape_text(smallest) + " for a kernel of " + shape_text(window.kernel) +
                   " and padding " + shape_text(window.padding))
      .hint("use a smaller kernel, more padding, or fewer strides and pools before it");
}

}  // namespace trainlab

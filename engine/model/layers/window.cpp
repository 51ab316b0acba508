#include "window.h"

#include <algorithm>
#include <array>

namespace trainlab {

Option sizes_option(std::string name, std::string doc, std::size_t axes) {
  constexpr std::array more = {"", "; one number for both axes, or { height, width }",
                               "; one number for all axes, or { depth, height, width }"};
  return Option(std::move(name), std::move(doc) + more.at(axes - 1)).integer().many(static_cast<int>(axes));
}

Value::List each(std::int64_t n, std::size_t axes) { return Value::List(axes, Value(n)); }

Shape sizes_of(const Shape& input) { return {input.begin() + 1, input.end()}; }

Shape Window::places(const Shape& sizes) const {
  Shape count(axes(), 0);
  for (std::size_t i = 0; i < axes(); ++i) {
    const std::int64_t span = dilation[i] * (kernel[i] - 1) + 1;
    const std::int64_t room = sizes[i] + before[i] + after[i] - span;
    if (room < 0) continue;
    count[i] = (room + (ceil ? stride[i] - 1 : 0)) / stride[i] + 1;
    if (ceil && (count[i] - 1) * stride[i] >= sizes[i] + before[i]) --count[i];
  }
  return count;
}

std::string axes_text(std::size_t axes) {
  constexpr std::array texts = {"[channels, length]", "[channels, height, width]", "[channels, depth, height, width]"};
  return texts.at(axes - 1);
}

const Shape& windowed_input(const LayerContext& context, const std::string& what, std::size_t axes) {
  const Shape& input = context.input();
  if (input.size() == axes + 1) return input;
  Error error = context.shape_error("an input of " + axes_text(axes));
  if (input.size() == 1) {
    error.hint(what + " needs " + (axes == 2 ? "images" : "a channel axis") +
               ": is there an nn.Flatten before it, or does the data have flat rows?");
  } else if (input.size() == axes) {
    error.hint(what + " needs a channel axis too: " +
               (axes == 2 ? "[1, height, width] for grey images" : "nn.Reshape adds one"));
  } else if (input.size() >= 2 && input.size() <= 4) {
    error.hint("for " + axes_text(input.size() - 1) + " there is the layer whose name ends in " +
               std::to_string(input.size() - 1) + "d");
  }
  throw error;
}

Shape window_output(const LayerContext& context, const Window& window, std::int64_t channels) {
  const Shape& input = context.input();
  Shape output = window.places(sizes_of(input));
  output.insert(output.begin(), channels);
  if (std::all_of(output.begin(), output.end(), [](std::int64_t n) { return n > 0; })) return output;
  Shape smallest = input;
  for (std::size_t i = 0; i < window.axes(); ++i) {
    smallest[i + 1] =
        std::max<std::int64_t>(1, window.dilation[i] * (window.kernel[i] - 1) + 1 - window.before[i] - window.after[i]);
  }
  throw context
      .shape_error("an input of at least " + shape_text(smallest) + " for a kernel of " + shape_text(window.kernel) +
                   " and padding " + shape_text(window.before))
      .hint("use a smaller kernel, more padding, or fewer strides and pools before it");
}

}  // namespace trainlab

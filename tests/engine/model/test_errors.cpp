// What a wrong model says: layer path, what was expected and found, source line, hint.
#include <catch2/catch.hpp>

#include <ATen/ops/zeros.h>

#include "cases.h"
#include "support/stand_in_device.h"

namespace trainlab::errors_test {

using namespace trainlab::testing;
using trainlab::test::on_test_device;
using trainlab::test::test_device;

namespace {

Value at_line(Value spec, int line) {
  spec.set("@at", "net.lua:" + std::to_string(line));
  return spec;
}

Error build_error(const Value& spec, const Shape& input) {
  try {
    build(spec, input);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::recipe);
    return error;
  }
  FAIL("was built");
  throw;
}

struct Wrong {
  Value spec;
  Shape input;
  std::string path, message;
};

}  // namespace

TEST_CASE("a shape error names layer, shapes and source line") {
  const Value spec = at_line(sequential({at_line(nn("Flatten"), 4), at_line(nn("Conv2d", {8, 3}), 5)}), 3);
  const Error error = build_error(spec, {1, 8, 8});
  CHECK(error.path() == "model[2].Conv2d");
  CHECK(error.file() == "net.lua");
  CHECK(error.line() == 5);
  CHECK(std::string(error.what()) ==
        "net.lua:5: model[2].Conv2d: expected an input of [channels, height, width], found an input of shape [64]\n"
        "  hint: a convolution needs images: is there an nn.Flatten before it, or does the data have flat rows?");
}

TEST_CASE("layers that do not fit their input") {
  using List = Value::List;
  const std::vector<Wrong> all = {
      {sequential({nn("ReLU"), nn("Linear", {3})}), {}, "model[2].Linear", "found an input of shape []"},
      {sequential({nn("Linear", {3})}),
       {4, 0},
       "model[1].Linear",
       "at least one feature, found an input of shape [4, 0]"},
      {sequential({nn("Conv2d", {4, 5})}),
       {1, 4, 9},
       "model[1].Conv2d",
       "at least [1, 5, 5] for a kernel of [5, 5] and padding [0, 0], found an input of shape [1, 4, 9]"},
      {sequential({nn("Conv2d", {4, 3}, {{"dilation", 3}, {"padding", 1}})}),
       {2, 4, 4},
       "model[1].Conv2d",
       "at least [2, 5, 5]"},
      {sequential({nn("Conv2d", {4, 1}, {{"groups", 3}})}),
       {6, 4, 4},
       "model[1].Conv2d",
       "divides the 6 input and 4 output channels, found groups = 3"},
      {sequential({nn("Conv2d", {6, 1}, {{"groups", 3}})}), {4, 4, 4}, "model[1].Conv2d", "found groups = 3"},
      {sequential({nn("MaxPool2d", {2}), nn("MaxPool2d", {List{1, 3}})}),
       {1, 4, 4},
       "model[2].MaxPool2d",
       "found an input of shape [1, 2, 2]"},
      {nn("AvgPool2d", {2}, {{"padding", 2}}),
       {1, 4, 4},
       "model",
       "at most half the kernel, found padding [2, 2] for a kernel of [2, 2]"},
      {nn("AdaptiveAvgPool2d", {1}), {4, 4}, "model", "[channels, height, width], found an input of shape [4, 4]"},
      {nn("BatchNorm1d"), {1, 4, 4}, "model", "[features] or [channels, length], found an input of shape [1, 4, 4]"},
      {nn("BatchNorm2d"), {4}, "model", "[channels, height, width], found an input of shape [4]"},
      {nn("LayerNorm", {}, {{"normalized_shape", List{3, 4}}}),
       {4, 3},
       "model",
       "ends with normalized_shape = [3, 4], found an input of shape [4, 3]"},
      {nn("Softmax", {-2}), {5}, "model", "at least 2 axes for dim = -2, found an input of shape [5]"},
      {sequential({nn("Linear", {4}), nn("Residual", {nn("Linear", {3})})}),
       {4},
       "model[2].Residual",
       "the body's output [3] and the shortcut's [4]"},
      {sequential({nn("Residual", {nn("ReLU"), sequential({nn("ReLU"), nn("MaxPool2d", {2})})})}),
       {4},
       "model[1].Residual[2].Sequential[2].MaxPool2d",
       "found an input of shape [4]"},
      {nn("Residual", {nn("Linear", {3})}, {{"shortcut", nn("Conv2d", {3, 1})}}),
       {4},
       "model.shortcut",
       "found an input of shape [4]"},
      {nn("Linear", {std::int64_t{1} << 50}), {1 << 20}, "model", "is too large"},
  };
  for (const Wrong& wrong : all) {
    INFO(wrong.path << ": " << wrong.message);
    const Error error = build_error(wrong.spec, wrong.input);
    CHECK(error.path() == wrong.path);
    CHECK_THAT(error.message(), Catch::Contains(wrong.message));
  }
}

TEST_CASE("options out of range") {
  CHECK_THAT(build_error(nn("Dropout", {1.0}), {4}).what(), Catch::Contains("p"));
  CHECK_THAT(build_error(nn("Linear", {0}), {4}).what(), Catch::Contains("out_features"));
  CHECK_THAT(build_error(nn("Softmax", {0}), {4}).what(), Catch::Contains("dim"));
  CHECK_THAT(build_error(nn("MaxPool2d", {Value::List{1, 2, 3}}), {1, 4, 4}).what(), Catch::Contains("kernel_size"));
  CHECK_THAT(build_error(sequential({}), {4}).what(), Catch::Contains("expected a layer"));
}

TEST_CASE("a batch of another shape is refused with both shapes") {
  const Model model = build(sequential({nn("Flatten"), nn("Linear", {3})}), {2, 4});
  const std::array keys = {Key(1), Key(2)};
  const auto one = std::span(keys).first(1);
  const ModelState single = model.initial_state(one, at::kFloat, test_device(), false);
  const ModelState group = model.initial_state(keys, at::kFloat, test_device(), true);
  const auto message = [&](const ModelState& state, at::IntArrayRef shape) {
    try {
      model.forward(at::zeros(shape, on_test_device()), {state, false, keys});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK_THAT(
      message(single, {5, 3, 3}),
      Catch::StartsWith("model: expected a batch of shape [batch, 2, 4], found [5, 3, 3]") &&
          Catch::Contains("model[2].Linear: an input of shape [9] needs 2.weight of shape [3, 9], found [3, 8]"));
  CHECK(message(single, {5, 8}) == "accepted");  // what nn.Flatten makes of it is the same
  CHECK(message(group, {5, 2, 4}) == "model: expected a batch of shape [2, batch, 2, 4], found [5, 2, 4]");
  CHECK(message(group, {3, 5, 2, 4}) == "model: expected a batch of shape [2, batch, 2, 4], found [3, 5, 2, 4]");
  CHECK(message(group, {2, 5, 2, 4}) == "accepted");
}

TEST_CASE("an operator's error carries the layer's path and source line") {
  const Model model = build(sequential({nn("ReLU"), nn("Residual", {at_line(nn("Linear", {4}), 7)})}), {4});
  const std::array keys = {Key(1)};
  const ModelState state = model.initial_state(keys, at::kFloat, test_device(), false);
  try {
    model.forward(at::zeros({2, 4}, on_test_device(at::kDouble)), {state, false, keys});
    FAIL("dtypes were mixed");
  } catch (const Error& error) {
    CHECK(error.path() == "model[2].Residual[1].Linear");
    CHECK(error.line() == 7);
    CHECK_THAT(error.message(), Catch::Contains("dtype"));
    CHECK_THAT(error.what(), !Catch::Contains("frame #"));
  }
}

TEST_CASE("batch norm refuses a training batch of one value per channel") {
  const Model model = build(sequential({nn("BatchNorm1d")}), {4});
  const std::array keys = {Key(1)};
  const ModelState state = model.initial_state(keys, at::kFloat, test_device(), false);
  const at::Tensor x = at::zeros({1, 4}, on_test_device());
  try {
    model.forward(x, {state, true, keys});
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.path() == "model[1].BatchNorm1d");
    CHECK_FALSE(error.hint().empty());
  }
  CHECK(model.forward(x, {state, false, keys}).sizes() == x.sizes());
}

}  // namespace trainlab::errors_test

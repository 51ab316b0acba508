// Batches of other sizes than the model was built for: the numbers are those of a model that was built for them.
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randint.h>

#include <catch2/catch.hpp>

#include "cases.h"
#include "support/stand_in_device.h"

namespace trainlab::sizes_test {

using namespace trainlab::testing;
using trainlab::test::test_device;

namespace {

const std::array keys = {Key(1), Key(2)};

ModelState state_of(const Model& model, bool group) {
  return model.initial_state(std::span(keys).first(group ? 2 : 1), at::kDouble, test_device(), group);
}

// A batch of three samples, for each of two members in a group.
at::Tensor batch_of(Shape sample, bool group) {
  sample.insert(sample.begin(), 3);
  if (group) sample.insert(sample.begin(), 2);
  return drawn(sample);
}

Value convolutional(const char* pool) {
  return sequential({nn("Conv2d", {4, 3}, {{"padding", 1}}), nn("BatchNorm2d"), nn("ReLU"), nn("MaxPool2d", {2}),
                     nn("Residual", {nn("Conv2d", {4, 3}, {{"padding", "same"}})}), nn(pool, {2}), nn("Flatten"),
                     nn("Dropout", {0.5}), nn("Linear", {3})});
}

}  // namespace

TEST_CASE("a model of layers that take any size computes as if it had been built for the size") {
  struct Sizes {
    Value spec;
    Shape built, other;
  };
  const auto sizes = GENERATE(values<Sizes>({
      {convolutional("AdaptiveAvgPool2d"), {2, 8, 8}, {2, 11, 6}},
      {sequential({nn("Conv1d", {3, 3}), nn("AdaptiveMaxPool1d", {1})}), {2, 9}, {2, 20}},
      {sequential({nn("LayerNorm"), nn("Linear", {3}), nn("Tanh")}), {5, 4}, {9, 4}},
      {sequential({nn("TransformerEncoderLayer", {2}), nn("Linear", {3})}), {5, 4}, {2, 4}},
  }));
  const bool group = GENERATE(false, true);
  const Model model = build(sizes.spec, sizes.built), other = build(sizes.spec, sizes.other);
  if (group && !model.not_stackable().empty()) return;
  const at::Tensor x = batch_of(sizes.other, group);
  // Statistics of batches change in training: each pass begins with its own.
  const auto pass = [&](const Model& one, bool training) {
    const ModelState state = state_of(model, group);
    const at::Tensor y =
        one.forward(x, {.state = state, .training = training, .keys = std::span(keys).first(group ? 2 : 1)});
    y.square().sum().backward();
    std::vector<at::Tensor> all = {y};
    for (const at::Tensor& parameter : state.parameters) all.push_back(parameter.grad());
    all.insert(all.end(), state.buffers.begin(), state.buffers.end());
    return all;
  };
  for (const bool training : {false, true}) {
    const std::vector<at::Tensor> found = pass(model, training), expected = pass(other, training);
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(at::equal(found[i], expected[i]));
  }
  // The size for which the model was built goes on as before.
  const ModelState state = state_of(model, group);
  const at::Tensor first = batch_of(sizes.built, group);
  CHECK(at::equal(model.forward(first, {.state = state, .training = false, .keys = keys}),
                  build(sizes.spec, sizes.built).forward(first, {.state = state, .training = false, .keys = keys})));
}

TEST_CASE("recurrent layers run over other lengths") {
  for (const char* output : {"last", "sequence"}) {
    const Value spec = nn("LSTM", {4}, {{"num_layers", 2}, {"bidirectional", true}, {"output", output}});
    const Model model = build(spec, {6, 3}), other = build(spec, {9, 3});
    const ModelState state = state_of(model, false);
    const at::Tensor x = batch_of({9, 3}, false);
    CHECK(at::equal(model.forward(x, {state, false, keys}), other.forward(x, {state, false, keys})));
  }
}

TEST_CASE("nn.Linear takes any leading axes") {
  const Model model = build(nn("Linear", {3}), {4});
  for (const Shape& sizes : {Shape{4}, Shape{5, 4}, Shape{2, 5, 4}}) {
    const ModelState one = state_of(model, false), group = state_of(model, true);
    const at::Tensor x = batch_of(sizes, true);
    const at::Tensor y = model.forward(x, {group, false, keys});
    for (std::int64_t m = 0; m < 2; ++m) {
      CHECK(at::allclose(y[m], at::linear(x[m], group.parameters[0][m], group.parameters[1][m])));
    }
    CHECK(at::equal(model.forward(x[0], {one, false, keys}), at::linear(x[0], one.parameters[0], one.parameters[1])));
  }
}

TEST_CASE("a language model reads shorter texts, and longer ones only without learned positions") {
  const Value spec = sequential({nn("Embedding", {11, 4}), nn("PositionalEmbedding"),
                                 nn("TransformerEncoderLayer", {2}, {{"causal", true}}), nn("Linear", {11})});
  const Model model = build_on(spec, {{"x", {.shape = {8}, .integers = true}}});
  const ModelState state = state_of(model, false);
  const at::Tensor x = at::randint(0, 11, {2, 8}, at::kLong).to(test_device());
  const at::Tensor whole = model.forward(x, {state, false, keys});
  const at::Tensor part = model.forward(x.narrow(1, 0, 5), {state, false, keys});
  CHECK(at::allclose(part, whole.narrow(1, 0, 5)));
  CHECK_THROWS_WITH(model.forward(at::randint(0, 11, {2, 9}, at::kLong).to(test_device()), {state, false, keys}),
                    Catch::StartsWith("model: expected a batch of shape [batch, 8], found [2, 9]") &&
                        Catch::Contains("model[2].PositionalEmbedding: an input of shape [9, 4] needs 2.weight of "
                                        "shape [9, 4], found [8, 4]"));
}

TEST_CASE("a size that does not go through a layer is refused with its path") {
  const Model model = build(convolutional("AvgPool2d"), {2, 8, 8});
  const ModelState state = state_of(model, false);
  CHECK_THROWS_WITH(
      model.forward(batch_of({2, 12, 8}, false), {state, false, keys}),
      Catch::StartsWith("model: expected a batch of shape [batch, 2, 8, 8], found [3, 2, 12, 8]") &&
          Catch::Contains("model[9].Linear: an input of shape [24] needs 9.weight of shape [3, 24], found [3, 16]"));
  CHECK_THROWS_WITH(model.forward(batch_of({3, 8, 8}, false), {state, false, keys}),
                    Catch::Contains("model[1].Conv2d: an input of shape [3, 8, 8] needs 1.weight of shape "
                                    "[4, 3, 3, 3], found [4, 2, 3, 3]"));
  CHECK_THROWS_WITH(model.forward(batch_of({2, 1, 1}, false), {state, false, keys}),
                    Catch::Contains("model[4].MaxPool2d: "));
}

}  // namespace trainlab::sizes_test

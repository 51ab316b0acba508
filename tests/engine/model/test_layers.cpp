// What layers say about wrong options and inputs, what random layers draw, and which weights are shared.
#include <catch2/catch.hpp>

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linalg_svdvals.h>
#include <ATen/ops/ones.h>

#include <set>

#include "cases.h"
#include "support/stand_in_device.h"

namespace trainlab::layers_test {

using namespace trainlab::testing;
using trainlab::test::on_test_device;
using trainlab::test::test_device;
using List = Value::List;

namespace {

const std::array keys = {Key(1)};

std::string refused(const Value& spec, const Shape& input, std::int64_t below = 0) {
  try {
    build(Case{"", spec, input, below});
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::recipe);
    return error.what();
  }
  return "accepted";
}

ModelState state_of(const Model& model, at::ScalarType type = at::kFloat) {
  return model.initial_state(keys, type, test_device(), false);
}

}  // namespace

TEST_CASE("layers that do not fit their input or each other, by name and with what was found") {
  struct Wrong {
    Value spec;
    Shape input;
    std::string message;
    std::int64_t below = 0;
  };
  const std::vector<Wrong> all = {
      {nn("Conv1d", {4, 3}), {1, 8, 8}, "expected an input of [channels, length], found an input of shape [1, 8, 8]"},
      {nn("Conv1d", {4, 3}), {1, 8, 8}, "the layer whose name ends in 2d"},
      {nn("Conv2d", {4, 3}, {{"padding", "same"}, {"stride", 2}}),
       {1, 8, 8},
       "\"same\" goes with stride 1, found stride [2, 2]"},
      {nn("Conv1d", {4, 3}, {{"padding", 3}, {"padding_mode", "reflect"}}),
       {1, 3},
       "a padding of at most 2, found [3]"},
      {nn("ConvTranspose1d", {4, 3}, {{"output_padding", 1}}),
       {1, 3},
       "output_padding below stride or dilation, found [1]"},
      {nn("ConvTranspose1d", {4, 1}, {{"padding", 2}}), {1, 3}, "less padding than [2]"},
      {nn("ConvTranspose1d", {4, 3}, {{"stride", 65536}}), {1, 3}, "a stride of at most 4096, found [65536]"},
      {nn("GroupNorm", {3}), {4, 2}, "divides the 4 channels, found num_groups = 3"},
      {nn("InstanceNorm2d"), {3, 4}, "[channels, height, width], found an input of shape [3, 4]"},
      {nn("InstanceNorm1d"), {3, 1}, "more than one value per group"},
      {nn("Embedding", {5, 3}), {4}, "expected integers (token ids, categories), found an input of shape [4]"},
      {nn("Embedding", {5, 3}, {{"padding_idx", 5}}), {4}, "padding_idx below 5, found 5", 5},
      {nn("PositionalEmbedding"), {4}, "an input of [positions, features], found an input of shape [4]"},
      {nn("LSTM", {4}), {4}, "an input of [length, features], found an input of shape [4]"},
      {nn("LSTM", {4}), {4, 3}, "expected floating-point numbers, found integers of shape [4, 3]", 5},
      {nn("MultiheadAttention", {4}), {5, 6}, "heads that divides the 6 features, found num_heads = 4"},
      {nn("MultiheadAttention", {4}, {{"kv_heads", 3}}), {5, 8}, "kv_heads that divides the 4 heads, found 3"},
      {nn("MultiheadAttention", {2}, {{"rotary", 1e4}}), {5, 6}, "pairs of features, found heads of 3"},
      {nn("MultiheadAttention", {2}, {{"memory", "source"}}), {5, 6}, "no column or branch \"source\""},
      {sequential(
           {nn("Branch", {nn("Linear", {4})}, {{"name", "m"}}), nn("MultiheadAttention", {2}, {{"memory", "m"}})}),
       {5, 6},
       "model[2].MultiheadAttention: expected the memory \"m\" to be floating-point numbers of [positions, 6], found "
       "an "
       "output of shape [5, 4]"},
      {nn("Concat", {nn("Linear", {3}), nn("Flatten")}), {2, 4}, "equal shapes but for axis -1, found [2, 3], [8]"},
      {nn("Concat", {nn("Identity")}, {{"dim", -3}}), {2, 4}, "at least 3 axes for dim = -3, found [2, 4]"},
      {nn("Sum", {nn("Linear", {3}), nn("Identity")}), {4}, "branches of one shape, found [3], [4]"},
      {nn("StochasticDepth", {nn("Linear", {3})}), {4}, "keep their input's shape [4], found an output of shape [3]"},
      {sequential({nn("Shared", {"w", nn("Linear", {3})}), nn("Shared", {"w", nn("Linear", {3})})}),
       {4},
       "model[2].Shared.w: expected shared.w.weight of shape [3, 4] as in the layer that it is shared with, found [3, "
       "3]"},
      {nn("Upsample"), {1, 4}, "either scale_factor or size, found none"},
      {nn("Upsample", {2}, {{"size", 4}}), {1, 4}, "either scale_factor or size, found both"},
      {nn("ZeroPad2d", {List{1, 2, 3}}), {1, 4, 4}, "one padding, or 4 (left, right, top, bottom), found [1, 2, 3]"},
      {nn("ReflectionPad1d", {4}), {1, 4}, "larger than the padding [4, 4]"},
      {nn("ZeroPad3d", {List{1, 2}}), {1, 4, 4, 4}, "(left, right, top, bottom, front, back), found [1, 2]"},
      {nn("Upsample", {List{2, 2}}), {1, 4}, "an input of 2 axes after the channels for scale_factor = [2, 2]"},
      {nn("Upsample", {2}, {{"antialias", true}}), {1, 4, 4}, "antialias goes with mode = \"linear\" or \"cubic\""},
      {nn("Upsample", {2}, {{"mode", "cubic"}}), {1, 4}, "[channels, height, width] for mode = \"cubic\""},
      {nn("Hardtanh", {1, 1}), {4}, "a min_val below max_val = 1, found 1"},
      {nn("Unflatten", {0, List{5, -1}}), {12}, "an axis 0 of as many values as unflattened_size = [5, -1]"},
      {nn("Unfold", {3}), {1, 2, 4}, "an input of at least [1, 3, 3]"},
      {nn("Fold", {List{4, 4}, 2}), {8, 6}, "[channels · 4, 9], the windows of an output of [4, 4]"},
      {nn("Fold", {List{1, 4}, 2}), {8, 6}, "an output_size of at least one window"},
      {nn("GRUCell", {4}), {5, 3}, "an input of [features], one step, found an input of shape [5, 3]"},
      {nn("LSTMCell", {4}, {{"state", "x"}}), {3}, "the state \"x\" to be floating-point numbers of [8], found [3]"},
      {nn("PixelShuffle", {2}), {6, 2, 2}, "a multiple of 4 channels, found an input of shape [6, 2, 2]"},
      {nn("Reshape", {5, -1}), {12}, "as many values as shape = [5, -1], found an input of shape [12]"},
      {nn("Permute", {List{0, 0}}), {3, 4}, "each axis once, found dims = [0, 0]"},
      {nn("Transpose"), {4}, "an axis dim0 = -2"},
      {nn("GLU"), {5}, "an even number of elements along dim = -1, found an input of shape [5]"},
      {nn("PReLU", {4}), {3, 2}, "4 channels"},
      {nn("SqueezeExcitation"), {8}, "found an input of shape [8]"},
      {nn("Linear", {4}, {{"init", "kaiming"}}), {4}, "init"},
      {nn("WeightNorm", {nn("ReLU")}), {4}, "a layer with a weight of two or more axes, found nn.ReLU"},
      {nn("SpectralNorm", {nn("LayerNorm")}), {4}, "a layer with a weight of two or more axes, found nn.LayerNorm"},
  };
  for (const Wrong& wrong : all) {
    INFO(wrong.message);
    CHECK_THAT(refused(wrong.spec, wrong.input, wrong.below), Catch::Contains(wrong.message));
  }
}

TEST_CASE("padding \"same\" keeps the size, and transposed convolutions bring back that of their counterpart") {
  for (const std::int64_t kernel : {1, 2, 3, 4, 5}) {
    for (const std::int64_t dilation : {1, 2, 3}) {
      const Value same = nn("Conv1d", {2, kernel}, {{"padding", "same"}, {"dilation", dilation}});
      CHECK((build(same, {3, 11}).output() == Shape{2, 11}));
    }
  }
  const Model pair = build(sequential({nn("Conv2d", {4, 4}, {{"stride", 2}, {"padding", 1}}),
                                       nn("ConvTranspose2d", {3, 4}, {{"stride", 2}, {"padding", 1}})}),
                           {3, 8, 6});
  CHECK((pair.output() == Shape{3, 8, 6}));
}

TEST_CASE("a causal layer sees nothing of what comes later") {
  const Model model = build(Case{"", gpt(11, 8, 2, 2), {6}, 11});
  const ModelState state = state_of(model, at::kDouble);
  const at::Tensor x = at::arange(6, on_test_device(at::kLong)).view({1, 6}), y = model.forward(x, {state, false, {}});
  for (std::int64_t t = 0; t < 6; ++t) {
    const at::Tensor other = x.clone();
    other.narrow(1, t, 6 - t).add_(4);
    const at::Tensor changed = model.forward(other, {state, false, {}});
    CHECK(at::equal(changed.narrow(1, 0, t), y.narrow(1, 0, t)));
    CHECK_FALSE(at::equal(changed.select(1, t), y.select(1, t)));
  }
}

TEST_CASE("attention with dropout: its mean over many masks is the plain attention") {
  const Model plain = build(nn("MultiheadAttention", {2}, {{"causal", true}}), {4, 6});
  const Model dropping = build(nn("MultiheadAttention", {2}, {{"causal", true}, {"dropout", 0.2}}), {4, 6});
  const ModelState state = state_of(plain, at::kDouble);
  const at::Tensor x = drawn({2, 4, 6});
  const at::Tensor expected = plain.forward(x, {state, true, keys}).detach();
  at::Tensor sum = expected.mul(0), squares = sum;
  constexpr int draws = 2000;
  for (int i = 0; i < draws; ++i) {
    const std::array step = {Key(1).fold(static_cast<std::uint64_t>(i))};
    const at::Tensor y = dropping.forward(x, {state, true, step}).detach();
    sum = sum.add(y);
    squares = squares.add(y.sub(expected).square());
  }
  // Five standard errors of the mean.
  const at::Tensor error = squares.div(draws).sqrt().div(std::sqrt(draws));
  CHECK(sum.div(draws).sub(expected).abs().le(error.mul(5).add(1e-12)).all().item<bool>());
  CHECK(squares.max().item<double>() > 0);
  CHECK(dropping.forward(x, {state, false, keys}).sub(expected).abs().max().item<double>() < 1e-12);
}

TEST_CASE("dropout of channels and of samples drops them whole") {
  const at::Tensor x = at::ones({50, 8, 3, 3}, on_test_device());
  const Model channels = build(nn("Dropout2d", {0.25}), {8, 3, 3});
  const at::Tensor y = channels.forward(x, {state_of(channels), true, keys});
  CHECK(at::equal(y, y.narrow(2, 0, 1).narrow(3, 0, 1).expand_as(y)));
  CHECK(std::abs(y.ne(0).to(at::kFloat).mean().item<double>() - 0.75) < 0.11);  // 400 draws, five standard errors

  const Model depth = build(nn("StochasticDepth", {nn("Identity")}, {{"p", 0.5}}), {8, 3, 3});
  const at::Tensor z = depth.forward(x, {state_of(depth), true, keys});
  CHECK(at::equal(z, z.narrow(1, 0, 1).narrow(2, 0, 1).narrow(3, 0, 1).expand_as(z)));
  CHECK(z.eq(1).logical_or(z.eq(3)).all().item<bool>());
  CHECK_FALSE(at::equal(z.eq(1), z.eq(3)));
  CHECK(at::equal(depth.forward(x, {state_of(depth), false, {}}), x.mul(2)));
}

TEST_CASE("alpha dropout keeps mean 0 and variance 1") {
  const Model model = build(nn("AlphaDropout", {0.3}), {1000});
  const at::Tensor y = model.forward(drawn({200, 1000}, Key(5), at::kFloat), {state_of(model), true, keys});
  CHECK(std::abs(y.mean().item<double>()) < 0.015);  // five standard errors of 200,000 draws, and of the variance
  CHECK(std::abs(y.var().item<double>() - 1) < 0.02);
}

TEST_CASE("dropout between recurrent layers: replayed by the key, absent in evaluation and after the last layer") {
  for (const char* name : {"LSTM", "GRU", "RNN"}) {
    const Model two = build(nn(name, {5}, {{"num_layers", 2}, {"dropout", 0.5}}), {4, 3});
    const Model plain = build(nn(name, {5}, {{"num_layers", 2}}), {4, 3});
    const ModelState state = state_of(two);
    const at::Tensor x = drawn({6, 4, 3}, Key(5), at::kFloat);
    const std::array other = {Key(2)};
    const at::Tensor y = two.forward(x, {state, true, keys});
    CHECK(at::equal(y, two.forward(x, {state, true, keys})));
    CHECK_FALSE(at::equal(y, two.forward(x, {state, true, other})));
    CHECK(y.ne(0).all().item<bool>());
    CHECK(at::equal(two.forward(x, {state, false, {}}), plain.forward(x, {state, false, {}})));
    CHECK(plain.forward(x, {state, true, keys}).sub(plain.forward(x, {state, false, {}})).abs().max().item<double>() <
          1e-6);
  }
}

TEST_CASE("a spectral norm's estimate reaches the largest singular value") {
  const Model model = build(nn("SpectralNorm", {nn("Linear", {6}, {{"bias", false}})}), {6});
  const ModelState state = state_of(model, at::kDouble);
  at::Tensor y;
  for (int i = 0; i < 500; ++i) y = model.forward(at::eye(6, on_test_device(at::kDouble)), {state, true, {}}).detach();
  CHECK(at::linalg_svdvals(y)[0].item<double>() == Approx(1).epsilon(1e-6));
}

// PyTorch's parametrizations.spectral_norm takes axis 1 of a transposed convolution's weight for the rows of the
// matrix, parametrizations.weight_norm axis 0 of every weight.
TEST_CASE("the axes of norms of a transposed convolution's weight are PyTorch's") {
  const Value transposed = nn("ConvTranspose1d", {3, 2}, {{"bias", false}, {"stride", 2}});
  const at::Tensor unit = at::eye(4, on_test_device(at::kDouble)).unsqueeze(2);  // the output is the weight
  const Model spectral = build(nn("SpectralNorm", {transposed}), {4, 1});
  CHECK((spectral.buffers()[0].shape == Shape{3}));
  CHECK((spectral.buffers()[1].shape == Shape{4 * 2}));
  const ModelState state = state_of(spectral, at::kDouble);
  at::Tensor weight;
  for (int i = 0; i < 500; ++i) weight = spectral.forward(unit, {state, true, {}}).detach();
  REQUIRE((weight.sizes() == at::IntArrayRef{4, 3, 2}));
  const double largest = at::linalg_svdvals(weight.transpose(0, 1).flatten(1))[0].item<double>();
  CHECK(largest == Approx(1).epsilon(1e-6));

  const Model lengths = build(nn("WeightNorm", {transposed}), {4, 1});
  CHECK((lengths.parameters()[1].shape == Shape{4, 1, 1}));
}

TEST_CASE("a spectral norm begins with a good estimate") {
  const Model model = build(nn("SpectralNorm", {nn("Linear", {64}, {{"bias", false}})}), {64});
  const ModelState state = state_of(model, at::kDouble);
  // The first pass, in evaluation and in training; with one iteration alone the largest value would be some 1.3.
  for (const bool training : {false, true}) {
    const at::Tensor y = model.forward(at::eye(64, on_test_device(at::kDouble)), {state, training, {}}).detach();
    CHECK(at::linalg_svdvals(y)[0].item<double>() == Approx(1).epsilon(0.02));
  }
}

TEST_CASE("shared layers: one set of weights in the state, counted once, and masks of their own") {
  const Value drop = nn("Shared", {"w", sequential({nn("Linear", {16}), nn("Dropout", {0.5})})});
  const Model model = build(sequential({drop, nn("ReLU"), drop}), {16});
  CHECK(model.parameter_count() == 16 * 16 + 16);
  REQUIRE(model.parameters().size() == 2);
  CHECK(model.parameters()[0].name == "shared.w.1.weight");
  CHECK(model.flops().forward == 2 * 2.0 * 16 * 16);
  CHECK(model.flops().backward == 3 * 2.0 * 16 * 16);

  const Value only_drop = nn("Shared", {"d", nn("Dropout", {0.5})});
  const Model twice = build(sequential({only_drop, only_drop}), {400});
  const at::Tensor y = twice.forward(at::ones({10, 400}, on_test_device()), {state_of(twice), true, keys});
  CHECK(std::abs(y.ne(0).to(at::kFloat).mean().item<double>() - 0.25) < 0.035);

  const Model tied = build(Case{"", gpt(11, 8, 2, 3), {6}, 11});
  // Tokens, positions, three blocks of two norms, four matrices (attention 4·8², feed-forward 2·4·8²), the last norm.
  CHECK(tied.parameter_count() == 11 * 8 + 6 * 8 + 3 * (2 * 8 + 12 * 8 * 8) + 8);
  CHECK((tied.output() == Shape{6, 11}));
}

}  // namespace trainlab::layers_test

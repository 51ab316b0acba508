// Models that compute in fewer digits: near float32 for every layer, in float32 where a pattern keeps it.
#include <catch2/catch.hpp>

#include <ATen/ops/equal.h>

#include <cmath>

#include "cases.h"
#include "core/callable.h"
#include "support/stand_in_device.h"

namespace trainlab::precision_test {

using namespace trainlab::testing;
using trainlab::test::test_device;

namespace {

constexpr std::int64_t batch = 8;
const std::array keys = {Key(1)};

Model built(const Case& layer, const LayerPrecision& precision) {
  const auto checked = std::make_shared<Spec>(Spec{registry().check(layer.spec, "model"), {}});
  return {Options(registry(), checked, "model"), Signals{{"x", {.shape = layer.input, .integers = layer.below > 0}}},
          precision};
}

// The output of a training pass, and the gradients of Σ output · normal draws by parameter.
struct Computed {
  at::Tensor output;
  std::vector<at::Tensor> gradients;
};

Computed computed(const Case& layer, const LayerPrecision& precision) {
  const Model model = built(layer, precision);
  const ModelState state = model.initial_state(keys, at::kFloat, test_device(), false);
  Shape shape = layer.input;
  shape.insert(shape.begin(), batch);
  at::Tensor x = drawn(shape, Key(80), at::kFloat);
  if (layer.below > 0) x = x.abs().mul(1000).to(at::kLong).remainder(layer.below);
  Computed all;
  all.output = model.forward(x, {.state = state, .training = true, .keys = keys});
  if (all.output.requires_grad()) all.output.backward(drawn(all.output.sizes(), Key(81), at::kFloat));
  all.output = all.output.detach();
  for (const at::Tensor& parameter : state.parameters) all.gradients.push_back(parameter.grad());
  return all;
}

// The norm of the difference relative to the norm of b.
double distance(std::span<const at::Tensor> a, std::span<const at::Tensor> b) {
  double difference = 0, all = 0;
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    REQUIRE(a[i].defined() == b[i].defined());
    if (!a[i].defined()) continue;
    CHECK(a[i].scalar_type() == at::kFloat);
    difference += a[i].sub(b[i]).to(at::kDouble).square().sum().item<double>();
    all += b[i].to(at::kDouble).square().sum().item<double>();
  }
  return all > 0 ? std::sqrt(difference / all) : std::sqrt(difference);
}

Case after_a_product(const Case& layer) {
  return {layer.name + " after a product", sequential({nn("Linear", {layer.input.back()}), layer.spec}), layer.input};
}

void check_near(const Case& layer, at::ScalarType type, double tolerance) {
  INFO(layer.name << " in " << dtype_name(type));
  const Computed whole = computed(layer, {}), few = computed(layer, {.compute = type});
  CHECK(few.output.scalar_type() == whole.output.scalar_type());
  if (!whole.output.is_floating_point()) return;
  CHECK(distance({&few.output, 1}, {&whole.output, 1}) < tolerance);
  // Another one of two nearly equal values may be the largest.
  if (shows(layer.spec, "nn.AdaptiveMaxPool2d")) return;
  // A GPU rounds the gradients of a convolution's weight once more.
  CHECK(distance(few.gradients, whole.gradients) < (test_device().is_cuda() ? 2 * tolerance : tolerance));
}

}  // namespace

TEST_CASE("every layer gives outputs and gradients near those of float32, in float32") {
  // Several roundings to 8 and to 11 digits.
  for (const auto& [type, tolerance] : {std::pair(at::kBFloat16, 0x1p-5), std::pair(at::kHalf, 0x1p-8)}) {
    for (const Case& layer : cases()) {
      check_near(layer, type, tolerance);
      if (layer.below == 0) check_near(after_a_product(layer), type, tolerance);
    }
  }
}

TEST_CASE("products round to the type that is asked for") {
  const Case linear{"", nn("Linear", {4}, {{"bias", false}}), {5}};
  const Model model = built(linear, {.compute = at::kBFloat16});
  const ModelState state = model.initial_state(keys, at::kFloat, test_device(), false);
  const at::Tensor x = drawn({batch, 5}, Key(80), at::kFloat);
  const at::Tensor y = model.forward(x, {.state = state, .keys = {}});
  CHECK(at::equal(y, y.to(at::kBFloat16).to(at::kFloat)));
  // The same products of the rounded operands, summed in float32 and rounded once.
  const at::Tensor rounded = x.to(at::kBFloat16).to(at::kFloat);
  const at::Tensor weight = state.parameters[0].detach().to(at::kBFloat16).to(at::kFloat);
  const at::Tensor sums = rounded.matmul(weight.t());
  CHECK(y.detach().sub(sums).abs().max().item<double>() <= sums.abs().max().item<double>() * 0x1p-8);
  CHECK(state.parameters[0].scalar_type() == at::kFloat);
}

TEST_CASE("layers that a pattern keeps compute in float32") {
  const Case net{"", sequential({nn("Linear", {6}), nn("LayerNorm"), nn("Linear", {6})}), {6}};
  const Computed whole = computed(net, {});
  const auto kept = [&](std::vector<std::string> keep) {
    return computed(net, {.compute = at::kBFloat16, .keep = std::move(keep)});
  };
  CHECK(at::equal(kept({"Linear"}).output, whole.output));
  CHECK(at::equal(kept({"1", "3"}).output, whole.output));
  CHECK(at::equal(kept({"*"}).output, whole.output));
  CHECK_FALSE(at::equal(kept({"1", "2"}).output, whole.output));
  const at::Tensor last_kept = kept({"3"}).output;
  CHECK_FALSE(at::equal(last_kept, whole.output));
  CHECK_FALSE(at::equal(last_kept, last_kept.to(at::kBFloat16).to(at::kFloat)));
}

TEST_CASE("patterns stand for names, for their last parts and for kinds; a number stands for a whole name") {
  const auto unmatched = [](std::vector<std::string> keep) {
    const Case net{"", sequential({nn("Linear", {4}), nn("TransformerEncoderLayer", {2})}), {3, 4}};
    return built(net, {.compute = at::kBFloat16, .keep = std::move(keep)}).unmatched_keep();
  };
  CHECK(unmatched({"1", "2.norm1", "norm*", "2.*", "LayerNorm", "*Norm", "Transformer*", "self_attn"}).empty());
  CHECK(unmatched({"3", "norm", "1", "weight", "1.weight"}) ==
        std::vector<std::string>{"3", "norm", "weight", "1.weight"});
}

TEST_CASE("members side by side in fewer digits are near the members alone") {
  const std::array three = {Key(1), Key(2), Key(3)};
  const Case net{"", sequential({nn("Linear", {6}), nn("LayerNorm"), nn("GELU"), nn("Linear", {3})}), {5}};
  const Model model = built(net, {.compute = at::kBFloat16});
  const ModelState group = model.initial_state(three, at::kFloat, test_device(), true);
  const at::Tensor x = drawn({3, batch, 5}, Key(80), at::kFloat);
  const at::Tensor together = model.forward(x, {.state = group, .keys = {}}).detach();
  CHECK(together.scalar_type() == at::kFloat);
  for (std::int64_t m = 0; m < 3; ++m) {
    const ModelState own =
        model.initial_state(std::span(three).subspan(static_cast<std::size_t>(m), 1), at::kFloat, test_device(), false);
    const at::Tensor alone = model.forward(x.select(0, m), {.state = own, .keys = {}}).detach();
    CHECK(together.select(0, m).sub(alone).abs().max().item<double>() < 0x1p-6);
  }
}

}  // namespace trainlab::precision_test

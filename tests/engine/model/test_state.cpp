// Initial values, names, copies.
#include <catch2/catch.hpp>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>

#include <cmath>

#include "cases.h"
#include "support/stand_in_device.h"

namespace trainlab::state_test {

using namespace trainlab::testing;
using trainlab::test::test_device;

namespace {

const std::array keys = {Key(1), Key(2)};
const std::span<const Key> one = std::span(keys).first(1);

Model cnn() {
  return build(
      sequential({nn("Conv2d", {64, 3}), nn("BatchNorm2d"), nn("Flatten"), nn("Linear", {300}), nn("LayerNorm")}),
      {8, 5, 5});
}

void check_uniform(const at::Tensor& values, double bound) {
  const at::Tensor x = values.detach().to(at::kDouble).div(bound);
  const double n = static_cast<double>(x.numel());
  CHECK(x.abs().max().item<double>() <= 1);
  // Standard errors of mean and mean square of U(−1, 1); the bounds are five of them.
  CHECK(std::abs(x.mean().item<double>()) < 5 * std::sqrt(1 / (3 * n)));
  CHECK(std::abs(x.pow(2).mean().item<double>() - 1.0 / 3) < 5 * std::sqrt(4 / (45 * n)));
}

}  // namespace

TEST_CASE("initial values are distributed as PyTorch's") {
  const Model model = cnn();
  const ModelState state = model.initial_state(one, at::kFloat, test_device(), false);
  const auto named = named_state(model, state);
  std::vector<std::string> names;
  for (const auto& [name, tensor] : named) names.push_back(name);
  const std::vector<std::string> expected = {
      "model.1.weight", "model.1.bias",   "model.2.weight", "model.2.bias",         "model.4.weight",
      "model.4.bias",   "model.5.weight", "model.5.bias",   "model.2.running_mean", "model.2.running_var"};
  CHECK(names == expected);
  check_uniform(state.parameters[0], 1 / std::sqrt(8.0 * 3 * 3));
  check_uniform(state.parameters[1], 1 / std::sqrt(8.0 * 3 * 3));
  check_uniform(state.parameters[4], 1 / std::sqrt(64.0 * 3 * 3));
  check_uniform(state.parameters[5], 1 / std::sqrt(64.0 * 3 * 3));
  for (const std::size_t i : {2, 6}) CHECK(state.parameters[i].eq(1).all().item<bool>());
  for (const std::size_t i : {3, 7}) CHECK(state.parameters[i].eq(0).all().item<bool>());
  CHECK(state.buffers[0].eq(0).all().item<bool>());
  CHECK(state.buffers[1].eq(1).all().item<bool>());
  for (const at::Tensor& parameter : state.parameters) CHECK((parameter.requires_grad() && parameter.is_leaf()));
}

TEST_CASE("biases and norms do not decay, weights do") {
  const Model model = cnn();
  for (const ParameterInfo& info : model.parameters()) {
    INFO(info.name);
    CHECK(info.decays == (info.name == "1.weight" || info.name == "4.weight"));
  }
}

TEST_CASE("a parameter's draw depends on its name and key only") {
  const Model small = build(sequential({nn("Linear", {3})}), {4});
  const Model more = build(sequential({nn("Linear", {3}), nn("ReLU"), nn("Linear", {3}, {{"bias", false}})}), {4});
  const ModelState a = small.initial_state(one, at::kFloat, test_device(), false),
                   b = more.initial_state(one, at::kFloat, test_device(), false);
  CHECK(at::equal(a.parameters[0], b.parameters[0]));
  CHECK_FALSE(at::equal(a.parameters[0], a.parameters[1]));
  const ModelState c = small.initial_state(std::span(keys).subspan(1), at::kFloat, test_device(), false);
  CHECK_FALSE(at::equal(a.parameters[0], c.parameters[0]));
}

TEST_CASE("dtypes: buffers follow the parameters, half precision is drawn in float32") {
  const Model model = cnn();
  const ModelState wide = model.initial_state(one, at::kDouble, test_device(), false);
  CHECK(wide.parameters[0].scalar_type() == at::kDouble);
  CHECK(wide.buffers[1].scalar_type() == at::kDouble);
  const ModelState half = model.initial_state(one, at::kBFloat16, test_device(), false);
  const ModelState single = model.initial_state(one, at::kFloat, test_device(), false);
  CHECK(at::equal(half.parameters[0], single.parameters[0].to(at::kBFloat16)));
  CHECK((half.parameters[0].is_leaf() && half.parameters[0].requires_grad()));
}

TEST_CASE("snapshots are copies") {
  const Model model = cnn();
  const ModelState state = model.initial_state(one, at::kFloat, test_device(), false);
  const ModelState kept = state.snapshot();
  CHECK_FALSE(kept.parameters[0].requires_grad());
  const at::Tensor before = state.parameters[0].detach().clone();
  {
    const at::NoGradGuard no_grad;
    state.parameters[0].fill_(7);
    state.buffers[1].fill_(7);
  }
  CHECK(at::equal(kept.parameters[0], before));
  CHECK(kept.buffers[1].max().item<float>() == 1);
}

TEST_CASE("named tensors go into a state and a group's member, all or none") {
  const Model model = cnn();
  const ModelState group = model.initial_state(keys, at::kFloat, test_device(), true);
  const ModelState solo = model.initial_state(one, at::kDouble, test_device(), false);
  NamedTensors second;
  for (const auto& [name, tensor] : named_state(model, group, 1)) second.emplace(name, tensor.clone());
  CHECK(second.at("model.4.bias").sizes() == at::IntArrayRef({300}));

  load_named_state(model, solo, second);
  CHECK(at::equal(solo.parameters[0], group.parameters[0].select(0, 1).to(at::kDouble)));
  load_named_state(model, group, second, 0);
  CHECK(at::equal(group.parameters[0].select(0, 0), group.parameters[0].select(0, 1)));

  const at::Tensor before = solo.parameters[0].detach().clone();
  second["model.1.weight"].fill_(3);
  NamedTensors wrong = second;
  wrong["model.5.bias"] = at::empty({299});
  CHECK_THROWS_WITH(load_named_state(model, solo, wrong), Catch::Contains("model.5.bias of shape [300], found [299]"));
  wrong.erase("model.5.bias");
  CHECK_THROWS_WITH(load_named_state(model, solo, wrong), Catch::Contains("model.5.bias of shape [300]"));
  CHECK(at::equal(solo.parameters[0], before));
}

TEST_CASE("a training pass that updates no statistics gives the same output and leaves them as they were") {
  const Value flat = sequential({nn("SpectralNorm", {nn("Linear", {8})}), nn("BatchNorm1d")});
  for (const bool is_flat : {false, true}) {
    const Model model = is_flat ? build(flat, {6}) : cnn();
    const ModelState state = model.initial_state(one, at::kFloat, test_device(), false);
    std::vector<at::Tensor> before;
    for (const at::Tensor& buffer : state.buffers) before.push_back(buffer.clone());
    Shape shape = model.signals().at("x").shape;
    shape.insert(shape.begin(), 4);
    const at::Tensor x = at::empty(shape).uniform_(-1, 1).to(test_device());
    const at::Tensor again =
        model.forward({&x, 1}, {.state = state, .training = true, .keys = {}, .updates_statistics = false});
    for (std::size_t i = 0; i < before.size(); ++i) CHECK(at::equal(state.buffers[i], before[i]));
    const at::Tensor first = model.forward({&x, 1}, {.state = state, .training = true, .keys = {}});
    CHECK(at::equal(again, first));
    for (std::size_t i = 0; i < before.size(); ++i) CHECK_FALSE(at::equal(state.buffers[i], before[i]));
  }
}

}  // namespace trainlab::state_test

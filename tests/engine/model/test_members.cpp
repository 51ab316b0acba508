// A group of members against its members alone.
#include <catch2/catch.hpp>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>

#include "cases.h"
#include "support/stand_in_device.h"

namespace trainlab::members_test {

using namespace trainlab::testing;
using trainlab::test::on_test_device;
using trainlab::test::test_device;

namespace {

constexpr std::int64_t members = 3, batch = 4;
const std::array<Key, members> keys = {Key(1), Key(2), Key(3).fold("third")};

Shape batched(const Shape& sample) {
  Shape all = {members, batch};
  all.insert(all.end(), sample.begin(), sample.end());
  return all;
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  REQUIRE(a.sizes() == b.sizes());
  return a.numel() ? a.sub(b).abs().max().item<double>() : 0;
}

// A solo state with the values of a group's member.
ModelState member_of(const Model& model, const ModelState& group, std::int64_t m) {
  ModelState solo = model.initial_state(std::span(keys).first(1), at::kDouble, test_device(), false);
  const NamedTensors values = [&] {
    NamedTensors named;
    for (auto& [name, tensor] : named_state(model, group, m)) named.emplace(name, tensor);
    return named;
  }();
  load_named_state(model, solo, values);
  return solo;
}

void check_case(const Case& layer) {
  const Model model = build(layer);
  const ModelState group = model.initial_state(keys, at::kDouble, test_device(), true);
  {
    // Norms start at one and zero, which would hide a mix-up of members.
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < group.parameters.size(); ++i) {
      group.parameters[i].add_(drawn(group.parameters[i].sizes(), Key(70).fold(i)));
    }
  }
  at::Tensor x = drawn(batched(layer.input), Key(80));
  if (layer.below > 0) {
    x = x.abs().mul(1000).to(at::kLong).remainder(layer.below);
  } else {
    x.requires_grad_();
  }
  const at::Tensor y = model.forward(x, {group, true, keys});
  REQUIRE(y.sizes() == at::IntArrayRef(batched(model.output())));
  const at::Tensor g = drawn(y.sizes(), Key(81));
  y.backward(g);

  for (std::int64_t m = 0; m < members; ++m) {
    INFO("member " << m);
    const ModelState solo = member_of(model, group, m);
    const at::Tensor solo_x = x.detach().select(0, m).clone().requires_grad_(layer.below == 0);
    const at::Tensor solo_y =
        model.forward(solo_x, {solo, true, std::span(keys).subspan(static_cast<std::size_t>(m), 1)});
    solo_y.backward(g.select(0, m));
    CHECK(difference(y.detach().select(0, m), solo_y.detach()) <= 1e-10);
    if (layer.below == 0) CHECK(difference(x.grad().select(0, m), solo_x.grad()) <= 1e-10);
    for (std::size_t i = 0; i < solo.parameters.size(); ++i) {
      INFO(model.parameters()[i].name);
      CHECK(difference(group.parameters[i].grad().select(0, m), solo.parameters[i].grad()) <= 1e-10);
    }
  }
}

}  // namespace

TEST_CASE("every stackable layer: members side by side equal members alone") {
  for (const Entry* entry : registry().of_kind("layer")) {
    if (entry->name == "nn.Module") continue;  // a recipe's function; cli/own_step has its tests
    INFO(entry->name);
    bool found = false;
    for (const Case& layer : cases()) {
      if (!shows(layer.spec, entry->name)) continue;
      found = true;
      INFO(layer.name);
      if (build(layer).not_stackable().empty()) check_case(layer);
    }
    // A layer that no case in cases.h shows would go untested.
    CHECK(found);
  }
}

TEST_CASE("members side by side attend to a memory, and drop attention weights, as members alone") {
  const Value memory = nn("Branch", {nn("Linear", {6})}, {{"name", "memory"}});
  const Value decoder = nn("TransformerDecoderLayer", {2}, {{"memory", "memory"}, {"dropout", 0.2}});
  check_case({"decoder", sequential({memory, decoder}), {4, 6}});
}

TEST_CASE("what takes a member axis, and which layer is named when a model does not") {
  for (const char* name : {"Linear",
                           "ReLU",
                           "LeakyReLU",
                           "ELU",
                           "GELU",
                           "SiLU",
                           "Sigmoid",
                           "Tanh",
                           "Softplus",
                           "Softmax",
                           "LogSoftmax",
                           "LayerNorm",
                           "RMSNorm",
                           "Embedding",
                           "PositionalEmbedding",
                           "Concat",
                           "Sum",
                           "Repeat",
                           "Shared",
                           "Branch",
                           "Input",
                           "Mish",
                           "GLU",
                           "StochasticDepth",
                           "Dropout",
                           "Flatten",
                           "Identity",
                           "Sequential",
                           "Residual",
                           "BatchNorm1d",
                           "BatchNorm2d",
                           "MultiheadAttention",
                           "TransformerEncoderLayer"}) {
    INFO(name);
    bool some = false;
    for (const Case& layer : cases()) {
      if (shows(layer.spec, std::string("nn.") + name)) some = some || build(layer).not_stackable().empty();
    }
    CHECK(some);
  }
  const Value body = nn("Residual", {nn("Conv2d", {1, 3}, {{"padding", 1}})});
  CHECK(build(sequential({nn("ReLU"), body, nn("MaxPool2d", {2})}), {1, 4, 4}).not_stackable() ==
        "model[2].Residual[1].Conv2d");
  CHECK(build(nn("MaxPool1d", {2}), {1, 4}).not_stackable() == "model");
}

TEST_CASE("members have running statistics of their own, and evaluation uses them") {
  const Model model = build(nn("BatchNorm2d"), {5, 3, 2});
  ModelState group = model.initial_state(keys, at::kDouble, test_device(), true);
  const at::Tensor x = drawn(batched({5, 3, 2}), Key(1)), other = drawn(batched({5, 3, 2}), Key(2));
  std::vector<ModelState> solos;
  for (std::int64_t m = 0; m < members; ++m) solos.push_back(member_of(model, group, m));
  model.forward(x, {group, true, keys});
  const at::Tensor y = model.forward(other, {group, false, keys});
  for (std::int64_t m = 0; m < members; ++m) {
    INFO("member " << m);
    const auto key = std::span(keys).subspan(static_cast<std::size_t>(m), 1);
    const ModelState& solo = solos[static_cast<std::size_t>(m)];
    model.forward(x.select(0, m), {solo, true, key});
    CHECK(difference(y.select(0, m), model.forward(other.select(0, m), {solo, false, key})) <= 1e-12);
    for (std::size_t i = 0; i < solo.buffers.size(); ++i)
      CHECK(difference(group.buffers[i].select(0, m), solo.buffers[i]) <= 1e-12);
  }
}

TEST_CASE("a member starts with the bits of its solo model, and drops the same elements") {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const Model model =
        build(sequential({nn("Linear", {7}), nn("LayerNorm"), nn("Dropout", {0.5}), nn("Linear", {3})}), {5});
    const ModelState group = model.initial_state(keys, type, test_device(), true);
    for (std::int64_t m = 0; m < members; ++m) {
      const auto key = std::span(keys).subspan(static_cast<std::size_t>(m), 1);
      const ModelState solo = model.initial_state(key, type, test_device(), false);
      for (std::size_t i = 0; i < solo.parameters.size(); ++i) {
        CHECK(at::equal(group.parameters[i].select(0, m), solo.parameters[i]));
      }
    }
    CHECK_FALSE(at::equal(group.parameters[0].select(0, 0), group.parameters[0].select(0, 1)));

    const Model drop = build(nn("Dropout", {0.5}), {9, 5});
    const at::Tensor x = drawn({members, batch, 9, 5}, Key(4), type);
    const ModelState none = drop.initial_state(keys, type, test_device(), true);
    const at::Tensor y = drop.forward(x, {none, true, keys});
    for (std::int64_t m = 0; m < members; ++m) {
      const auto key = std::span(keys).subspan(static_cast<std::size_t>(m), 1);
      const ModelState solo = drop.initial_state(key, type, test_device(), false);
      CHECK(at::equal(y.select(0, m), drop.forward(x.select(0, m), {solo, true, key})));
    }
    CHECK(at::equal(drop.forward(x, {none, false, keys}), x));
  }
}

TEST_CASE("dropout layers of one model draw masks of their own, and each key another") {
  const Value drop = nn("Dropout", {0.5});
  const Model model = build(sequential({drop, drop}), {64});
  const ModelState state = model.initial_state(std::span(keys).first(1), at::kFloat, test_device(), false);
  const at::Tensor x = at::empty({50, 64}, on_test_device()).fill_(1);
  const auto pass = [&](Key key) {
    const std::array step = {key};
    return model.forward(x, {state, true, step});
  };
  // Kept twice: a quarter, not the half of two equal masks. 3,200 draws: standard error 0.0077.
  CHECK(std::abs(pass(Key(1)).ne(0).to(at::kDouble).mean().item<double>() - 0.25) < 0.039);
  CHECK(at::equal(pass(Key(1)), pass(Key(1))));
  CHECK_FALSE(at::equal(pass(Key(1)), pass(Key(2))));
}

}  // namespace trainlab::members_test

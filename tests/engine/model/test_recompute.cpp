// Layers that are computed again for the backward pass: the bits of the plain pass, with less memory held.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>

#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "cases.h"
#include "core/callable.h"
#include "model/offload.h"
#include "model/recompute.h"
#include "support/error_of.h"
#include "support/stand_in_device.h"
#include "tensor/memory.h"
#include "tensor/operator_errors.h"

namespace trainlab::recompute_test {

using namespace test;
using namespace trainlab::testing;

namespace {

const std::array keys = {Key(1), Key(2)};

std::span<const Key> keys_of(bool group) { return std::span(keys).first(group ? 2 : 1); }

ModelState state_of(const Model& model, bool group) {
  const ModelState state = model.initial_state(keys_of(group), at::kDouble, test_device(), group);
  const at::NoGradGuard no_gradients;
  // Norms start at one and zero, which would hide mistakes.
  for (std::size_t i = 0; i < state.parameters.size(); ++i)
    state.parameters[i].add_(drawn(state.parameters[i].sizes(), Key(70).fold(i)));
  return state;
}

at::Tensor input_of(const Case& layer, bool group) {
  Shape shape = layer.input;
  shape.insert(shape.begin(), 4);
  if (group) shape.insert(shape.begin(), 2);
  const at::Tensor x = drawn(shape, Key(80));
  if (layer.below > 0) return x.abs().mul(1000).to(at::kLong).remainder(layer.below);
  return x.requires_grad_();
}

// The output, the gradients of the input and of the parameters, and the buffers after the pass. `twice`: two backward
// passes through one graph.
std::vector<at::Tensor> results(const Model& model, const at::Tensor& input, const Recompute* recompute, bool group,
                                bool updates, bool twice = false) {
  const ModelState state = state_of(model, group);
  const at::Tensor x = input.detach().clone().requires_grad_(input.requires_grad());
  const at::Tensor y = model.forward(x, {.state = state,
                                         .training = true,
                                         .keys = keys_of(group),
                                         .updates_statistics = updates,
                                         .recompute = recompute});
  if (y.requires_grad()) {
    const at::Tensor g = drawn(y.sizes(), Key(81));
    if (twice) y.backward(g, /*retain_graph=*/true);
    y.backward(g);
  }
  std::vector<at::Tensor> all = {y.detach(), x.grad()};
  for (const at::Tensor& parameter : state.parameters) all.push_back(parameter.grad());
  all.insert(all.end(), state.buffers.begin(), state.buffers.end());
  return all;
}

// Layers whose gradients a GPU adds in any order, so that two plain passes differ too.
bool adds_in_any_order(const Case& layer) {
  static const std::set<std::string> names = {"conv2d_reflect",   "conv2d_replicate",  "avg_pool3d",
                                              "reflection_pad3d", "replication_pad3d", "upsample_bilinear"};
  return test_device().is_cuda() && names.contains(layer.name);
}

void check_same(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    INFO("tensor " << i);
    REQUIRE(a[i].defined() == b[i].defined());
    if (a[i].defined()) CHECK(at::equal(a[i], b[i]));
  }
}

Value block(std::int64_t width) {
  return sequential({nn("Linear", {width}), nn("GELU"), nn("Dropout", {0.25}), nn("LayerNorm")});
}

Value deep(std::int64_t blocks, std::int64_t width) { return nn("Repeat", {blocks, block(width)}); }

std::int64_t held_after_forward(const Model& model, const Recompute* recompute) {
  const ModelState state = state_of(model, false);
  Shape shape = {64};
  shape.insert(shape.end(), model.signals().at("x").shape.begin(), model.signals().at("x").shape.end());
  const at::Tensor x = drawn(shape);
  count_tensor_memory();
  const std::int64_t before = tensor_memory().live;
  const at::Tensor y =
      model.forward(x, {.state = state, .training = true, .keys = keys_of(false), .recompute = recompute});
  return tensor_memory().live - before;
}

}  // namespace

TEST_CASE("every layer computed again has the gradients of the plain pass, to the bit, and statistics move once") {
  const bool group = GENERATE(false, true), updates = GENERATE(true, false);
  for (const Case& layer : cases()) {
    INFO(layer.name);
    const Model model = build(layer);
    const std::size_t size = model.chain().size();
    if ((group && !model.not_stackable().empty()) || adds_in_any_order(layer)) continue;
    const at::Tensor x = input_of(layer, group);
    const std::vector<at::Tensor> plain = results(model, x, nullptr, group, updates);
    const Recompute whole{.segments = {{.first = 0, .count = size}}};
    check_same(results(model, x, &whole, group, updates), plain);
    const Recompute nested{.segments = {{.first = 0, .count = size, .inner = {{.first = 0, .count = 1}}}}};
    check_same(results(model, x, &nested, group, updates), plain);
  }
}

TEST_CASE("segments of any size, within each other and through two backward passes, give the plain gradients") {
  const Model model = build(deep(4, 8), {8});
  const bool group = GENERATE(false, true), twice = GENERATE(false, true);
  const at::Tensor x = input_of({.name = "", .spec = {}, .input = {8}}, group);
  const std::vector<at::Tensor> plain = results(model, x, nullptr, group, true, twice);
  for (std::size_t size = 1; size < 16; ++size) {
    INFO("segments of " << size);
    const Recompute every = recompute_every(model, size);
    check_same(results(model, x, &every, group, true, twice), plain);
  }
  const ChainSegment deepest{.first = 2, .count = 3};
  const ChainSegment inner{.first = 1, .count = 6, .inner = {deepest, {.first = 5, .count = 1}}};
  const Recompute nested{.segments = {{.first = 0, .count = 9, .inner = {inner, {.first = 7, .count = 2}}},
                                      {.first = 10, .count = 6, .inner = {{.first = 10, .count = 6}}}}};
  check_same(results(model, x, &nested, group, true, twice), plain);
}

TEST_CASE("columns and branches that a segment reads and makes are the same when it is computed again") {
  const Value spec =
      sequential({nn("Linear", {6}), nn("Branch", {nn("Linear", {6}), nn("Tanh")}, {{"name", "side"}}),
                  nn("Residual", {nn("Linear", {6}), nn("ReLU")}),
                  nn("Sum", {nn("Input", {"side"}), sequential({nn("Input", {"other"}), nn("Linear", {6})})}),
                  nn("Tanh"), nn("Linear", {2})});
  const Model model = build_on(spec, {{"x", {.shape = {5}}}, {"other", {.shape = {3}}}});
  const auto gradients = [&](const Recompute* recompute) {
    const ModelState state = state_of(model, false);
    const std::array columns = {drawn({4, 5}, Key(1)), drawn({4, 3}, Key(2))};
    model.forward(columns, {.state = state, .training = true, .keys = keys_of(false), .recompute = recompute})
        .square()
        .sum()
        .backward();
    std::vector<at::Tensor> all;
    for (const at::Tensor& parameter : state.parameters) all.push_back(parameter.grad());
    return all;
  };
  const std::vector<at::Tensor> plain = gradients(nullptr);
  for (std::size_t size = 1; size < 6; ++size) {
    const Recompute every = recompute_every(model, size);
    check_same(gradients(&every), plain);
  }
  const Recompute inside{.segments = {}, .layers = {"3.1", "3.2", "4.2"}};
  check_same(gradients(&inside), plain);
}

TEST_CASE("a segment keeps its input alone until the backward pass") {
  if (!test_device().is_cpu()) return;  // whose allocator counts
  const Model model = build(deep(16, 64), {64});
  const Recompute every = recompute_every(model, 8);  // two blocks
  const std::int64_t plain = held_after_forward(model, nullptr), less = held_after_forward(model, &every);
  // Eight segments, of which seven keep 64 × 64 doubles and the last two blocks all.
  CHECK(static_cast<double>(less) < 0.35 * static_cast<double>(plain));
}

TEST_CASE("a pass without gradients, and after an error a further pass, are plain passes") {
  const Model model = build(deep(2, 8), {8});
  const Recompute every = recompute_every(model, 4);
  const ModelState state = state_of(model, false);
  const Pass pass{.state = state, .training = true, .keys = keys_of(false), .recompute = &every};
  {
    const at::NoGradGuard no_gradients;
    CHECK_FALSE(model.forward(drawn({4, 8}), pass).requires_grad());
  }
  ModelState broken = state;
  broken.parameters[0] = drawn({3, 3});
  CHECK_THROWS_AS(model.forward(drawn({4, 8}), pass.with(broken)), Error);
  const at::Tensor x = drawn({4, 8}).requires_grad_(), y = x.square().sum();
  y.backward();
  CHECK(at::equal(x.grad(), x.detach().mul(2)));
}

TEST_CASE("an input that was changed in place since is found out") {
  const Model model = build(deep(2, 8), {8});
  const Recompute every = recompute_every(model, 4);
  const ModelState state = state_of(model, false);
  const at::Tensor x = drawn({4, 8});
  const at::Tensor y =
      model.forward(x, {.state = state, .training = true, .keys = keys_of(false), .recompute = &every});
  x.add_(1);
  const std::string said = error_of([&] { with_operator_errors([&] { y.sum().backward(); }); });
  CHECK_THAT(said, Catch::Contains("modified by an inplace operation"));
}

TEST_CASE("a tensor that was changed in place since it was kept is found out, as in a plain pass") {
  const std::int64_t width = GENERATE(8, 128);  // 128: large enough for a file
  const Model model = build(deep(2, width), {width});
  const Recompute every = recompute_every(model, 4);
  ActivationFile file(std::make_shared<ScratchFile>(std::filesystem::temp_directory_path()));
  const auto said = [&](const Recompute* recompute, bool in_file) {
    const ModelState state = state_of(model, false);
    const at::Tensor x = drawn({4, width}).requires_grad_();
    std::optional<OffloadActivations> offload;
    if (in_file) offload.emplace(file, std::span<const std::span<const at::Tensor>>());
    const at::Tensor y =
        model.forward(x, {.state = state, .training = true, .keys = keys_of(false), .recompute = recompute});
    offload.reset();
    {
      const at::NoGradGuard no_gradients;
      state.parameters[0].add_(1);  // the weight of the first nn.Linear
    }
    return error_of([&] { with_operator_errors([&] { y.sum().backward(); }); });
  };
  const auto refused = [] { return Catch::Contains("modified by an inplace operation"); };
  CHECK_THAT(said(nullptr, false), refused());
  CHECK_THAT(said(&every, false), refused() && Catch::Contains("model[1].Sequential[1].Linear: "));
  if (!test_device().is_cpu()) return;
  CHECK_THAT(said(nullptr, true), refused());
  CHECK_THAT(said(&every, true), refused());
}

TEST_CASE("a column that was changed in place is not read again by a segment") {
  const Value spec =
      sequential({nn("Linear", {6}), nn("Sum", {nn("Input", {"other"}), nn("Tanh")}), nn("Linear", {2})});
  const Model model = build_on(spec, {{"x", {.shape = {5}}}, {"other", {.shape = {6}}}});
  const Recompute every = recompute_every(model, 2);
  const ModelState state = state_of(model, false);
  const std::array columns = {drawn({4, 5}, Key(1)), drawn({4, 6}, Key(2))};
  const at::Tensor y =
      model.forward(columns, {.state = state, .training = true, .keys = keys_of(false), .recompute = &every});
  columns[1].add_(1);
  CHECK_THAT(error_of([&] { with_operator_errors([&] { y.sum().backward(); }); }),
             Catch::Contains("modified by an inplace operation: a tensor float64 [4, 6] is at version "));
}

TEST_CASE("patterns name segments by the places of layers") {
  const Value spec = sequential(
      {nn("Flatten"), nn("Repeat", {3, block(8)}), nn("Residual", {nn("Linear", {8}), nn("Tanh")}), nn("Linear", {2})});
  const Model model = build(spec, {8});  // a chain of 1 + 12 + 1 + 1 layers
  const auto chosen = [&](const Value::List& patterns) {
    Registry options;
    options.add(Entry("memory", "function", "The option.").with(Option("recompute", "patterns").string().many()));
    const auto given =
        std::make_shared<Spec>(Spec{.value = Value::Map{{"@", "memory"}, {"recompute", patterns}}, .functions = {}});
    return recompute_by_pattern(model, Options(options, given, "fit.memory"), "recompute");
  };
  const auto runs = [&](const Value::List& patterns) {
    std::vector<std::pair<std::size_t, std::size_t>> all;
    for (const ChainSegment& one : chosen(patterns).segments) all.emplace_back(one.first, one.count);
    return all;
  };
  using Runs = std::vector<std::pair<std::size_t, std::size_t>>;
  CHECK(runs({"2.*"}) == Runs{{1, 4}, {5, 4}, {9, 4}});
  CHECK(runs({"3", "2"}) == Runs{{1, 12}, {13, 1}});
  CHECK(runs({"2.2-3"}) == Runs{{5, 9}});
  CHECK(runs({"2.1.2-2.2.3"}) == Runs{{2, 6}});
  CHECK(chosen({"3.1"}).layers == std::set<std::string, std::less<>>{"3.1"});
  const auto message = [&](const Value::List& patterns) { return error_of([&] { chosen(patterns); }); };
  CHECK_THAT(message({"5*"}), Catch::Contains("no layer matches \"5*\""));
  CHECK_THAT(message({"3-2"}), Catch::Contains("\"3-2\" ends before it begins"));
  CHECK_THAT(message({"2.*", "2.2.1"}), Catch::Contains("that are in another segment already"));
  CHECK_THAT(message({"3.1", "3"}), Catch::Contains("that are in another segment already"));
}

}  // namespace trainlab::recompute_test

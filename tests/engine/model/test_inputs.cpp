// Columns of a batch as inputs of a model: by name, of integers, and those that are not there.
#include <catch2/catch.hpp>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>

#include "cases.h"
#include "support/stand_in_device.h"

namespace trainlab::inputs_test {

using namespace trainlab::testing;
using trainlab::test::on_test_device;
using trainlab::test::test_device;

namespace {

const std::array keys = {Key(1), Key(2)};

std::string refused(const Value& spec, Signals columns) {
  try {
    build_on(spec, std::move(columns));
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::recipe);
    return error.what();
  }
  return "accepted";
}

// identity(x) + column b
Value sum_with_b() { return nn("Residual", {nn("Identity")}, {{"shortcut", nn("Input", {"b"})}}); }

}  // namespace

TEST_CASE("nn.Input reads the column of its name, alone and in a group") {
  const Model model = build_on(sum_with_b(), {{"a", {.shape = {9}}}, {"b", {.shape = {3}}}, {"x", {.shape = {3}}}});
  REQUIRE((model.columns() == std::vector<std::string>{"x", "b"}));
  CHECK((model.output() == Shape{3}));
  CHECK(model.not_stackable().empty());
  for (const bool group : {false, true}) {
    const ModelState state =
        model.initial_state(std::span(keys).first(group ? 2 : 1), at::kFloat, test_device(), group);
    const at::Tensor x = at::arange(24, on_test_device()).view(group ? Shape{2, 4, 3} : Shape{8, 3});
    const std::array columns = {x, x.mul(10)};
    CHECK(at::equal(model.forward(columns, {state, false, {}}), x.mul(11)));
  }
}

TEST_CASE("a model all of whose branches begin with nn.Input needs no column x") {
  const Value body = sequential({nn("Input", {"a"}), nn("Linear", {2})});
  const Value spec = nn("Residual", {body}, {{"shortcut", nn("Input", {"b"})}});
  const Model model = build_on(spec, {{"a", {.shape = {5}}}, {"b", {.shape = {2}}}});
  CHECK((model.columns() == std::vector<std::string>{"a", "b"}));
  // A column takes no gradient, so the matrix product has one backward product only.
  CHECK(model.flops().forward == 2.0 * 5 * 2);
  CHECK(model.flops().backward == 2.0 * 5 * 2);

  CHECK_THAT(refused(sequential({nn("Linear", {2})}), {{"a", {.shape = {5}}}, {"b", {.shape = {2}}}}),
             Catch::Contains("model[1].Linear: expected an input, and the data has no column \"x\"") &&
                 Catch::Contains("nn.Input(\"NAME\"); the data has a, b"));
  CHECK_THAT(
      refused(sum_with_b(), {{"x", {.shape = {5}}}, {"y", {.shape = {}}}}),
      Catch::Contains("model.shortcut: there is no column or branch \"b\"") && Catch::Contains("the data has x, y"));
}

TEST_CASE("a branch is read by its name, as often as wanted, with gradients") {
  const Value spec = sequential({nn("Branch", {nn("Tanh")}, {{"name", "t"}}), nn("Flatten"), nn("Input", {"t"}),
                                 nn("Residual", {nn("Identity")}, {{"shortcut", nn("Input", {"t"})}})});
  const Model model = build_on(spec, {{"x", {.shape = {2, 3}}}});
  CHECK((model.output() == Shape{2, 3}));
  const ModelState state = model.initial_state(std::span(keys).first(1), at::kDouble, test_device(), false);
  const at::Tensor x = at::arange(12, on_test_device(at::kDouble)).view({2, 2, 3}).mul(0.1).requires_grad_();
  const at::Tensor y = model.forward(x, {state, true, {}});
  CHECK(at::equal(y, x.tanh().mul(2)));
  y.sum().backward();
  CHECK(x.grad().sub(x.tanh().square().neg().add(1).mul(2)).abs().max().item<double>() < 1e-15);

  CHECK_THAT(refused(sequential({nn("Branch", {nn("Tanh")}, {{"name", "x"}})}), {{"x", {.shape = {3}}}}),
             Catch::Contains("\"x\" is the name of a column of the data already"));
  CHECK_THAT(
      refused(sequential({nn("Input", {"t"}), nn("Branch", {nn("Tanh")}, {{"name", "t"}})}), {{"x", {.shape = {3}}}}),
      Catch::Contains("model[1].Input: there is no column or branch \"t\""));
}

TEST_CASE("a column of another shape than at the start is refused by name") {
  const Model model = build_on(sum_with_b(), {{"b", {.shape = {3}}}, {"x", {.shape = {3}}}});
  const ModelState state = model.initial_state(std::span(keys).first(1), at::kFloat, test_device(), false);
  const std::array columns = {at::empty({2, 3}, on_test_device()), at::empty({2, 4}, on_test_device())};
  CHECK_THROWS_WITH(model.forward(columns, {state, false, {}}),
                    Catch::StartsWith("model: expected a batch of shape [batch, 3] in column b, found [2, 4]"));
}

TEST_CASE("layers that calculate refuse integers, layers that only move numbers pass them on") {
  const Signals tokens = {{"x", {.shape = {4, 2}, .integers = true}}};
  CHECK_THAT(refused(sequential({nn("Identity"), nn("Flatten"), nn("Linear", {3})}), tokens),
             Catch::Contains("model[3].Linear: expected floating-point numbers, found integers of shape [8]") &&
                 Catch::Contains("nn.Embedding"));
  for (const char* name : {"ReLU", "Softmax", "LayerNorm", "Dropout", "BatchNorm1d"}) {
    INFO(name);
    CHECK_THAT(refused(nn(name), tokens), Catch::Contains("expected floating-point numbers"));
  }
  CHECK_THAT(refused(nn("Residual", {nn("Identity")}), tokens), Catch::Contains("expected floating-point numbers"));
}

}  // namespace trainlab::inputs_test

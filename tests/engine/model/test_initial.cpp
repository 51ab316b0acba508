// Named initial values, and initial values and frozen parameters by pattern.
#include <catch2/catch.hpp>

#include <ATen/ops/equal.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>

#include "cases.h"
#include "core/callable.h"
#include "model/initial.h"
#include "support/stand_in_device.h"

namespace trainlab::initial_test {

using namespace trainlab::testing;
using trainlab::test::on_test_device;
using trainlab::test::test_device;

namespace {

Value init(const std::string& name, Value::List positional = {}, Value::Map named = {}) {
  const Entry* entry = registry().find("init." + name);
  REQUIRE(entry);
  Value::Map map = registry().assemble(*entry, std::move(positional), std::move(named));
  map.emplace("@", entry->name);
  return map;
}

// The first parameter of a model.
at::Tensor first_weight(const Value& spec, const Shape& input, std::uint64_t seed = 1) {
  const std::array keys = {Key(seed)};
  return build(spec, input).initial_state(keys, at::kDouble, test_device(), false).parameters.at(0).detach();
}

at::Tensor linear(const Value& initial) { return first_weight(nn("Linear", {300}, {{"init", initial}}), {200}); }

double deviation(const at::Tensor& x) { return x.std().item<double>(); }
double largest(const at::Tensor& x) { return x.abs().max().item<double>(); }

Model net() { return build(sequential({nn("Linear", {8}), nn("LayerNorm"), nn("Linear", {4})}), {6}); }

const Registry& with_holder() {
  static const Registry all = [] {
    Registry made;
    register_model(made);
    made.add(Entry("holder", "test", "Has the fields of lab.fit.")
                 .with(Option("init", "initial values").entry("init").keyed())
                 .with(Option("freeze", "patterns").string().many()));
    made.add(
        Entry("init.ones_mixed", "init", "Stored ones for each parameter of net(), mixed with the model's own values.")
            .with(Option("from", "nothing").string().or_default(""))
            .with(Option("stored", "factor").number().required())
            .with(Option("own", "factor").number().required())
            .with(Option("except", "patterns").string().many())
            .with(Option("partial", "nothing").boolean().or_default(false)),
        StoredValues{.read =
                         [](const Options&) {
                           const Model model = net();
                           NamedTensors ones;
                           for (const ParameterInfo& info : model.parameters())
                             ones.emplace(info.name, at::ones(info.shape));
                           return StoredValues::Tensors{.by_name = ones};
                         },
                     .option = "from",
                     .mixture =
                         [](const Options& init) {
                           return Mixture{.stored = init.number("stored"), .own = init.number("own")};
                         }});
    return made;
  }();
  return all;
}

Options holder(Value::Map fields) {
  fields.emplace("@", "holder");
  return {with_holder(), std::make_shared<Spec>(Spec{with_holder().check(fields, "fit"), {}}), "fit"};
}

std::string message(const Value::Map& fields) {
  Model model = net();
  try {
    initialize_by_pattern(model, holder(fields), "init");
    freeze_by_pattern(model, holder(fields), "freeze");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::recipe);
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("named initial values have the deviation and bounds of their formulas") {
  // 60,000 draws: a standard error of 0.3 % of the deviation.
  const auto near = [](double x) { return Approx(x).epsilon(0.015); };
  CHECK(deviation(linear(init("normal", {0.5}))) == near(0.5));
  CHECK(deviation(linear(init("kaiming_normal"))) == near(std::sqrt(2.0 / 200)));
  CHECK(deviation(linear(init("kaiming_normal", {}, {{"mode", "fan_out"}, {"nonlinearity", "linear"}}))) ==
        near(std::sqrt(1.0 / 300)));
  CHECK(deviation(linear(init("kaiming_uniform", {}, {{"nonlinearity", "leaky_relu"}, {"a", 0.2}}))) ==
        near(std::sqrt(2.0 / (1.04 * 200))));
  CHECK(deviation(linear(init("xavier_normal", {2.0}))) == near(2 * std::sqrt(2.0 / 500)));
  const at::Tensor uniform = linear(init("xavier_uniform"));
  CHECK(deviation(uniform) == near(std::sqrt(2.0 / 500)));
  CHECK(largest(uniform) <= std::sqrt(6.0 / 500));
  CHECK(largest(linear(init("uniform", {-0.1, 0.3}))) <= 0.3);
  CHECK(linear(init("uniform", {-0.1, 0.3})).mean().item<double>() == Approx(0.1).margin(0.003));
  const at::Tensor cut = linear(init("truncated_normal", {1.0}, {{"low", -1.0}, {"high", 1.0}}));
  CHECK(largest(cut) <= 1);
  CHECK(deviation(cut) == near(0.5396));  // of a standard normal within ±1
  CHECK(at::equal(linear(init("constant", {0.25})), linear(init("ones")).mul(0.25)));
  CHECK(largest(linear(init("zeros"))) == 0);

  // A kernel's fan counts its places.
  const at::Tensor kernel = first_weight(nn("Conv2d", {64, 3}, {{"init", "kaiming_normal"}}), {32, 5, 5});
  CHECK(deviation(kernel) == Approx(std::sqrt(2.0 / (32 * 9))).epsilon(0.03));
}

TEST_CASE("orthogonal weights have rows or columns of unit length at right angles") {
  const at::Tensor wide = first_weight(nn("Linear", {5}, {{"init", init("orthogonal", {2.0})}}), {9});
  CHECK(wide.matmul(wide.t()).sub(at::eye(5, on_test_device(at::kDouble)).mul(4)).abs().max().item<double>() < 1e-12);
  const at::Tensor tall = first_weight(nn("Linear", {9}, {{"init", "orthogonal"}}), {5});
  CHECK(tall.t().matmul(tall).sub(at::eye(5, on_test_device(at::kDouble))).abs().max().item<double>() < 1e-12);
  CHECK_FALSE(at::equal(tall, first_weight(nn("Linear", {9}, {{"init", "orthogonal"}}), {5}, 2)));
}

TEST_CASE("patterns choose parameters by name, the longest one first") {
  Model model = net();
  initialize_by_pattern(
      model,
      holder({{"init",
               Value::Map{{"*", init("constant", {1.0})}, {"3.*", init("constant", {3.0})}, {"3.bias", "zeros"}}}}),
      "init");
  const std::array keys = {Key(1)};
  const ModelState state = model.initial_state(keys, at::kDouble, test_device(), false);
  const std::map<std::string, double> expected = {{"1.weight", 1}, {"1.bias", 1},   {"2.weight", 1},
                                                  {"2.bias", 1},   {"3.weight", 3}, {"3.bias", 0}};
  for (std::size_t i = 0; i < state.parameters.size(); ++i) {
    INFO(model.parameters()[i].name);
    CHECK(state.parameters[i].eq(expected.at(model.parameters()[i].name)).all().item<bool>());
  }

  Model matrices = net();
  initialize_by_pattern(matrices, holder({{"init", "zeros"}}), "init");
  const ModelState zeroed = matrices.initial_state(keys, at::kDouble, test_device(), false);
  CHECK(largest(zeroed.parameters[0]) == 0);
  CHECK(largest(zeroed.parameters[1]) > 0);  // biases and norms keep their own
  CHECK(largest(zeroed.parameters[2]) == 1);

  CHECK_THAT(
      message({{"init", Value::Map{{"4.*", "zeros"}}}}),
      Catch::Contains("fit.init: no parameter matches \"4.*\"") && Catch::Contains("this model has 1.weight, 1.bias"));
  CHECK_THAT(message({{"init", Value::Map{{"1.*", "zeros"}, {"*.1", "zeros"}, {"*1.", "ones"}}}}),
             Catch::Contains("matches"));
  CHECK_THAT(message({{"init", Value::Map{{"1*", "zeros"}, {"*s", "zeros"}}}}), Catch::Contains("both match 1.bias"));
  CHECK_THAT(message({{"init", Value::Map{{"*", "kaiming_normal"}}}}),
             Catch::Contains("two or more axes, found one of shape [8]"));
  CHECK_THAT(message({{"init", Value::Map{{"*", init("uniform", {1.0, 1.0})}}}}), Catch::Contains("more than low = 1"));
  CHECK_THAT(message({{"init", Value::Map{{"*", init("truncated_normal", {0.1}, {{"low", 9.0}, {"high", 10.0}})}}}}),
             Catch::Contains("to hold part of the draws"));
}

TEST_CASE("a frozen layer computes as in evaluation, and its running statistics stay") {
  const auto body = [] { return sequential({nn("Linear", {4}), nn("BatchNorm1d")}); };
  const auto moves = [&](const Value::List& patterns, const Value& norm) {
    Model model = build(sequential({sequential({nn("Linear", {4}), norm}), nn("BatchNorm1d")}), {3});
    if (!patterns.empty()) freeze_by_pattern(model, holder({{"freeze", patterns}}), "freeze");
    const std::array keys = {Key(1)};
    const ModelState state = model.initial_state(keys, at::kDouble, test_device(), false);
    const at::Tensor x = at::eye(3, on_test_device(at::kDouble));
    model.forward(x, {.state = state, .training = true, .keys = keys});
    std::vector<bool> moved;
    for (const at::Tensor& buffer : state.buffers) moved.push_back(buffer.ne(buffer.flatten()[0]).any().item<bool>());
    return moved;
  };
  const Value norm = nn("BatchNorm1d"), plain = nn("BatchNorm1d", {}, {{"affine", false}});
  using Moved = std::vector<bool>;  // mean and variance of the body's norm, then of the head's
  CHECK((moves({}, norm) == Moved{true, true, true, true}));
  CHECK((moves({"1.*"}, norm) == Moved{false, false, true, true}));
  CHECK((moves({"1.2.weight", "1.2.bias"}, norm) == Moved{false, false, true, true}));
  CHECK((moves({"1.*"}, plain) == Moved{false, false, true, true}));
  CHECK((moves({"*.bias"}, norm) == Moved{true, true, true, true}));  // its weight trains

  Model model = build(sequential({body(), nn("Linear", {2})}), {3});
  freeze_by_pattern(model, holder({{"freeze", Value::List{"1.*"}}}), "freeze");
  const std::array keys = {Key(1)};
  const ModelState state = model.initial_state(keys, at::kDouble, test_device(), false);
  const at::Tensor x = at::eye(3, on_test_device(at::kDouble)).slice(0, 0, 1);  // one sample has no variance
  CHECK(at::equal(model.forward(x, {.state = state, .training = true, .keys = keys}),
                  model.forward(x, {.state = state, .training = false, .keys = {}})));

  Model spectral = build(sequential({nn("SpectralNorm", {nn("Linear", {4})}), nn("Linear", {2})}), {3});
  freeze_by_pattern(spectral, holder({{"freeze", Value::List{"1.layer.*"}}}), "freeze");
  const ModelState held = spectral.initial_state(keys, at::kDouble, test_device(), false);
  const at::Tensor before = held.buffers[0].clone();
  for (int i = 0; i < 3; ++i) spectral.forward(x, {.state = held, .training = true, .keys = keys});
  CHECK(at::equal(held.buffers[0], before));
}

TEST_CASE("frozen parameters take no gradient") {
  Model model = net();
  freeze_by_pattern(model, holder({{"freeze", Value::List{"1.*", "2.bias"}}}), "freeze");
  const std::array keys = {Key(1)};
  const ModelState state = model.initial_state(keys, at::kDouble, test_device(), false);
  std::vector<std::string> trained;
  for (std::size_t i = 0; i < state.parameters.size(); ++i) {
    if (state.parameters[i].requires_grad()) trained.push_back(model.parameters()[i].name);
  }
  CHECK((trained == std::vector<std::string>{"2.weight", "3.weight", "3.bias"}));
  CHECK_THAT(message({{"freeze", Value::List{"9*"}}}), Catch::Contains("fit.freeze: no parameter matches \"9*\""));
  CHECK_THAT(message({{"freeze", Value::List{"*"}}}), Catch::Contains("nothing is left to train"));
}

TEST_CASE("stored values are mixed with those that the model draws itself") {
  const std::array keys = {Key(7)};
  const auto values = [&](double stored, double own) {
    Model model = net();
    const Value mixed = Value::Map{{"@", "init.ones_mixed"}, {"stored", stored}, {"own", own}};
    initialize_by_pattern(model, holder({{"init", mixed}}), "init");
    return model.initial_state(keys, at::kDouble, test_device(), false).parameters;
  };
  const auto drawn = net().initial_state(keys, at::kDouble, test_device(), false).parameters;
  const auto stored = values(1, 0), shrunk = values(0.4, 0), mixed = values(0.4, 0.1), fresh = values(0, 1);
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    CHECK(at::equal(stored[i], at::ones_like(drawn[i])));
    CHECK(at::equal(shrunk[i], at::full_like(drawn[i], 0.4)));
    CHECK(at::equal(fresh[i], drawn[i]));
    CHECK(mixed[i].sub(drawn[i].mul(0.1).add(0.4)).abs().max().item<double>() < 1e-15);
  }
}

}  // namespace trainlab::initial_test

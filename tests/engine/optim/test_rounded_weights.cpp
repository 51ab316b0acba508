// Weights in bfloat16: updates smaller than their digits add up, with either rounding, and steps can be repeated.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "optim/clip.h"
#include "optim/optimizer.h"
#include "specs.h"
#include "support/error_of.h"

namespace trainlab::rounded_weights_test {

using trainlab::test::error_of;

namespace {

constexpr double rate = 1e-3;

// Two matrices of several blocks each, of one or several members, and gradients that depend on the step alone.
struct Problem {
  Problem(const Options& spec, WeightRounding rounding, const std::vector<std::int64_t>& members, bool is_stacked,
          at::ScalarType type = at::kBFloat16)
      : its_members(members), rows(is_stacked ? static_cast<std::int64_t>(members.size()) : 0) {
    std::vector<OptimizedParameter> parameters;
    for (const std::int64_t size : {70, 3}) {
      values.push_back(of_members(size, 0.7).to(type));
      parameters.push_back({.name = std::to_string(size), .value = values.back(), .rounding = rounding});
    }
    const std::vector<Options> specs(static_cast<std::size_t>(std::max<std::int64_t>(rows, 1)), spec);
    optimizer = make_optimizer(specs, std::move(parameters), rows);
  }

  at::Tensor of_members(std::int64_t size, double factor) const {
    std::vector<at::Tensor> slices;
    for (const std::int64_t m : its_members)
      slices.push_back(
          at::arange(size * 71, at::kFloat).mul(factor).add(static_cast<double>(m)).sin().view({size, 71}));
    return rows ? at::stack(slices) : slices[0];
  }

  void step(std::int64_t t, double its_rate = rate) {
    std::vector<at::Tensor> gradients;
    for (const at::Tensor& value : values) {
      const double factor = 0.3 + 0.01 * static_cast<double>(t % 7);
      gradients.push_back(of_members(value.size(rows ? 1 : 0), factor).to(at::kBFloat16).to(value.scalar_type()));
    }
    const std::vector<double> rates(static_cast<std::size_t>(std::max<std::int64_t>(rows, 1)), its_rate);
    optimizer->step(gradients, rates);
  }

  std::vector<std::int64_t> its_members;
  std::int64_t rows;
  std::vector<at::Tensor> values;
  std::unique_ptr<Optimizer> optimizer;
};

std::unique_ptr<Optimizer> sgd_of(const at::Tensor& value, WeightRounding rounding) {
  const Options spec = optim_spec("optim.SGD");
  return make_optimizer({&spec, 1}, {{.name = "w", .value = value, .rounding = rounding}}, 0);
}

constexpr WeightRounding roundings[] = {WeightRounding::stochastic, WeightRounding::compensated};

}  // namespace

TEST_CASE("rounded weights: rounding at random has the right mean") {
  const at::Tensor value = at::ones({64, 64}, at::kBFloat16);
  const auto optimizer = sgd_of(value, WeightRounding::stochastic);
  const at::Tensor gradient = at::full({64, 64}, 1e-3, at::kBFloat16);
  const double update = gradient[0][0].item<double>(), one = 1;
  REQUIRE(at::equal(value.sub(gradient), value));  // to the nearest, nothing would ever change
  for (int t = 0; t < 1000; ++t) optimizer->step(std::vector{gradient}, std::span(&one, 1));
  const at::Tensor now = value.to(at::kDouble);
  // The deviation of each weight is 0.041, so that of the mean is 0.00064.
  CHECK(now.mean().item<double>() == Approx(1 - 1000 * update).margin(0.0026));
  CHECK(now.std().item<double>() == Approx(0.041).margin(0.004));
}

TEST_CASE("rounded weights: a number between two others goes to each as often as it is near") {
  // 1 + 1/128 is the next number after 1.
  for (const double share : {0.125, 0.5, 0.75}) {
    const at::Tensor value = at::ones({256, 256}, at::kBFloat16);
    const double up = -share;
    sgd_of(value, WeightRounding::stochastic)
        ->step(std::vector{at::full({256, 256}, 1.0 / 128, at::kBFloat16)}, std::span(&up, 1));
    const at::Tensor above = value.to(at::kDouble).sub(1).mul(128);
    CHECK(at::equal(above.mul(above.sub(1)), at::zeros_like(above)));  // 0 or 1
    CHECK(above.mean().item<double>() == Approx(share).margin(0.008));
  }
}

TEST_CASE("rounded weights: the rest of a compensated weight") {
  const at::Tensor value = at::ones({1}, at::kBFloat16);
  const auto optimizer = sgd_of(value, WeightRounding::compensated);
  const OptimizerTensor rest = optimizer->state().front();
  REQUIRE(rest.name == "w.rest");
  const double expected[][2] = {{1, -.00099945068},
                                {.99609375, .00190734863},
                                {.99609375, .000907897949},
                                {.99609375, -9.20295715e-5},
                                {.99609375, -.00109100342}};
  // The rate is −1e-3 in float32, which the gradient, 1, does not round.
  const double step = 1e-3;
  for (const auto& [weight, left] : expected) {
    optimizer->step(std::vector{at::ones({1}, at::kBFloat16)}, std::span(&step, 1));
    CHECK(value.item<double>() == weight);
    CHECK(rest.tensor.item<double>() == Approx(left).epsilon(1e-7));
  }
}

TEST_CASE("rounded weights: a compensated weight follows float32, and one rounded at random does on average") {
  for (const std::string entry : {"optim.SGD", "optim.Adam", "optim.AdamW", "optim.Lion"}) {
    INFO(entry);
    const Options spec = optim_spec(entry, {{"weight_decay", 0.1}});
    const double slow = entry == "optim.SGD" ? 3e-3 : 3e-4;
    Problem whole(spec, WeightRounding::none, {0}, false, at::kFloat);
    Problem random(spec, WeightRounding::stochastic, {0}, false);
    Problem rest(spec, WeightRounding::compensated, {0}, false);
    whole.values[0].copy_(random.values[0]);
    const at::Tensor before = whole.values[0].clone();
    for (std::int64_t t = 0; t < 200; ++t) {
      whole.step(t, slow);
      random.step(t, slow);
      rest.step(t, slow);
    }
    const at::Tensor full = whole.values[0];
    const double moved = full.sub(before).abs().mean().item<double>();
    CHECK(moved > 0.01);
    at::Tensor with_rest = rest.values[0].to(at::kFloat);
    for (const OptimizerTensor& one : rest.optimizer->state())
      if (one.name == "70.rest") with_rest = with_rest.add(one.tensor);
    // A rest has 8 digits, as its weight has, and is rounded 200 times.
    CHECK(with_rest.sub(full).abs().max().item<double>() < 5e-4);
    CHECK(with_rest.sub(rest.values[0]).abs().max().item<double>() > 1e-3);
    const at::Tensor off = random.values[0].to(at::kFloat).sub(full);
    CHECK(std::abs(off.mean().item<double>()) < 0.02 * moved);
  }
}

TEST_CASE("rounded weights: the bytes of a weight") {
  const auto bytes = [](const std::string& entry, const char* state, WeightRounding rounding) {
    const at::Tensor value = at::ones({256, 256}, at::kBFloat16);
    const Options spec = state ? optim_spec(entry, {{"state", state}}) : optim_spec(entry);
    std::int64_t all = 0;
    const auto optimizer = make_optimizer({&spec, 1}, {{.name = "w", .value = value, .rounding = rounding}}, 0);
    for (const OptimizerTensor& one : optimizer->state())
      if (one.name != "step") all += static_cast<std::int64_t>(one.tensor.nbytes());
    return static_cast<double>(all) / static_cast<double>(value.numel());
  };
  CHECK(bytes("optim.SGD", nullptr, WeightRounding::stochastic) == 0);
  CHECK(bytes("optim.SGD", nullptr, WeightRounding::compensated) == 2);
  CHECK(bytes("optim.AdamW", nullptr, WeightRounding::stochastic) == 8);
  CHECK(bytes("optim.AdamW", nullptr, WeightRounding::compensated) == 10);
  CHECK(bytes("optim.AdamW", "bfloat16", WeightRounding::stochastic) == 4);
  CHECK(bytes("optim.AdamW", "bfloat16", WeightRounding::compensated) == 6);
  CHECK(bytes("optim.AdamW", "8bit", WeightRounding::stochastic) == 2 + 8.0 / 256);
  CHECK(bytes("optim.Lion", "8bit", WeightRounding::compensated) == 2 + 1 + 4.0 / 256);
}

TEST_CASE("rounded weights: stacked members, and a step that is repeated") {
  for (const std::string entry : {"optim.SGD", "optim.Adam", "optim.AdamW", "optim.Lion"}) {
    for (const std::string state : {"full", "bfloat16", "8bit"}) {
      if (entry == "optim.SGD" && state != "full") continue;
      for (const WeightRounding rounding : roundings) {
        INFO(entry << " " << state << " " << static_cast<int>(rounding));
        Value::Map options{{"weight_decay", 0.1}};
        options[entry == "optim.SGD" ? "momentum" : "state"] = entry == "optim.SGD" ? Value(0.9) : Value(state);
        const Options spec = optim_spec(entry, options);
        Problem together(spec, rounding, {0, 1, 2}, true), alone(spec, rounding, {1}, false);
        for (std::int64_t t = 0; t < 10; ++t) {
          together.step(t);
          alone.step(t);
        }
        for (std::size_t i = 0; i < alone.values.size(); ++i)
          CHECK(at::equal(together.values[i].select(0, 1), alone.values[i]));

        Problem resumed(spec, rounding, {1}, false);
        const auto saved = alone.optimizer->state(), restored = resumed.optimizer->state();
        REQUIRE(saved.size() == restored.size());
        for (std::size_t i = 0; i < saved.size(); ++i) restored[i].tensor.copy_(saved[i].tensor);
        for (std::size_t i = 0; i < alone.values.size(); ++i) resumed.values[i].copy_(alone.values[i]);
        for (std::int64_t t = 10; t < 15; ++t) {
          alone.step(t);
          resumed.step(t);
        }
        for (std::size_t i = 0; i < alone.values.size(); ++i) CHECK(at::equal(alone.values[i], resumed.values[i]));
      }
    }
  }
}

TEST_CASE("rounded weights: numbers that are not finite stay so") {
  const double infinity = std::numeric_limits<double>::infinity(), one = 1;
  for (const WeightRounding rounding : roundings) {
    const at::Tensor value = at::ones({2}, at::kBFloat16);
    const auto optimizer = sgd_of(value, rounding);
    at::Tensor gradient = at::ones({2}, at::kBFloat16);
    gradient[0] = -infinity;
    gradient[1] = std::numeric_limits<double>::quiet_NaN();
    optimizer->step(std::vector{gradient}, std::span(&one, 1));
    CHECK(value[0].item<double>() == infinity);
    CHECK(std::isnan(value[1].item<double>()));
  }
}

TEST_CASE("rounded weights: gradients in bfloat16 beside others are clipped by their joint norm") {
  const std::vector<at::Tensor> gradients = {at::full({2, 8}, 0.75, at::kBFloat16), at::full({2}, 2.0, at::kFloat)};
  const at::Tensor norm = clip_by_norm(gradients, 1, 0);
  const double expected = std::sqrt(16 * 0.75 * 0.75 + 8);
  CHECK(norm.item<double>() == Approx(expected).epsilon(1e-6));
  CHECK(gradients[1][0].item<double>() == Approx(2 / expected).epsilon(1e-6));
  CHECK(gradients[0][1][7].item<double>() == Approx(0.75 / expected).epsilon(1.0 / 256));
  clip_by_value(gradients, 0.125);
  CHECK(gradients[0][0][0].item<double>() == 0.125);
}

TEST_CASE("rounded weights: optimizers that do not round say so") {
  const auto message = [](const std::string& entry, Value::Map options, WeightRounding rounding) {
    const Options spec = optim_spec(entry, std::move(options));
    const at::Tensor value = at::ones({8, 8}, at::kBFloat16);
    return error_of([&] { make_optimizer({&spec, 1}, {{.name = "w", .value = value, .rounding = rounding}}, 0); });
  };
  const std::string all = "weights in bfloat16 are for optim.Adam, optim.AdamW, optim.Lion or optim.SGD, found ";
  CHECK_THAT(message("optim.Prodigy", {}, WeightRounding::stochastic), Catch::Contains(all + "optim.Prodigy"));
  CHECK_THAT(message("optim.AdamWScheduleFree", {}, WeightRounding::stochastic), Catch::Contains(all));
  CHECK_THAT(message("optim.Lookahead", {{"base", Value::Map{{"@", "optim.SGD"}}}}, WeightRounding::compensated),
             Catch::Contains(all + "optim.Lookahead"));
  // A loop of the recipe's own makes optimizers in this way: no rounding is said.
  CHECK_THAT(message("optim.SGD", {}, WeightRounding::none), Catch::Contains("float32 and float64 parameters"));
}

}  // namespace trainlab::rounded_weights_test

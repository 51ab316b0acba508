// What single optimizers do, and groups of parameters.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "optim/optimizer.h"
#include "optimizer_problems.h"
#include "specs.h"
#include "support/stand_in_device.h"

namespace trainlab::optimizers_test {

TEST_CASE("optimizers: Prodigy waits for a first gradient, finds a rate, and has one rate for all parameters") {
  const Options spec = optim_spec("optim.Prodigy", {{"weight_decay", 0.5}});
  const at::Tensor value = at::ones({3}, at::kDouble).to(test_device()), target = at::full_like(value, -1);
  const auto optimizer = make_optimizer(std::span(&spec, 1), {{.name = "w", .value = value}}, 0);
  const auto number = [&](const std::string& name) {
    const std::vector<OptimizerTensor> state = optimizer->state();
    return std::ranges::find(state, name, &OptimizerTensor::name)->tensor.item<double>();
  };
  const double rate = 1;
  optimizer->step(std::vector{at::zeros_like(value)}, std::span(&rate, 1));
  CHECK(at::equal(value, at::ones_like(value)));
  CHECK(number("k") == 0);
  for (int t = 0; t < 60; ++t) optimizer->step(std::vector{value - target}, std::span(&rate, 1));
  CHECK(number("k") == 60);
  CHECK(number("d") > 1e-3);  // from 1e-6
  CHECK(difference(value, target) < 1.5);

  const auto make = [](Value::Map options) {
    const Options one = optim_spec("optim.Prodigy", std::move(options));
    const std::vector<OptimizedParameter> two{{.name = "1.w", .value = at::ones({3})},
                                              {.name = "2.w", .value = at::ones({3})}};
    make_optimizer(std::span(&one, 1), two, 0);
  };
  CHECK_NOTHROW(make({{"groups", Value::Map{{"params", "1.*"}, {"lr", 0.0}}}}));
  CHECK_THROWS_WITH(make({{"groups", Value::Map{{"params", "1.*"}, {"lr", 0.5}}}}),
                    Catch::Contains("recipe.lua:3") && Catch::Contains("0.5 times the rate for '1.w'"));
  CHECK_THROWS_WITH(make({{"layer_decay", 0.5}}), Catch::Contains("one rate for all"));
  CHECK_THROWS_WITH(make({{"groups", Value::Map{{"params", "1.*"}, {"d0", 0.5}}}}), Catch::Contains("d0"));
}

TEST_CASE("optimizers: SOAP makes no steps of rounding noise") {
  // All gradients are of rank one, so that most directions hold nothing but rounding.
  const Options spec = optim_spec("optim.SOAP", {{"lr", 0.1}, {"precondition_frequency", 2}});
  std::vector<at::Tensor> results;
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    const at::Tensor left = at::arange(1, 9, at::kDouble).sin(), right = at::arange(1, 7, at::kDouble).cos();
    const at::Tensor gradient = left.unsqueeze(1).mul(right.unsqueeze(0)).to(test_device(), type);
    const at::Tensor value = at::zeros_like(gradient);
    const auto optimizer = make_optimizer(std::span(&spec, 1), {{.name = "w", .value = value}}, 0);
    const double rate = 0.1;
    for (int t = 0; t < 6; ++t) optimizer->step(std::vector{gradient}, std::span(&rate, 1));
    results.push_back(value);
  }
  CHECK(difference(results[0], at::zeros_like(results[0])) > 0.01);
  CHECK(difference(results[0], results[1]) < 1e-5);
}

TEST_CASE("optimizers: an average of the weights, and where it has no place") {
  // Both averages of a member are those of its solo run, and before the first step the weights themselves.
  const std::string entry = GENERATE("optim.SGDScheduleFree", "optim.AdamWScheduleFree");
  Stack stack(entry, at::kDouble);
  const auto together = stack.make_stacked();
  const auto average_of = [](const Optimizer& optimizer, std::int64_t row, const std::vector<at::Tensor>& like) {
    std::vector<at::Tensor> average;
    for (const at::Tensor& value : like) average.push_back(at::empty_like(value));
    optimizer.averaged_weights(row, average);
    return flat(average);
  };
  CHECK(at::equal(average_of(*together, 1, stack.member(1)), flat(stack.member(1))));
  const auto alone = make_optimizer(std::span(&stack.specs[1], 1), stack.solo[1].parameters(), 0);
  for (std::int64_t t = 0; t < 20; ++t) {
    together->step(stack.gradients(t), stack.rates);
    alone->step(stack.solo[1].gradients(t), std::span(&stack.rates[1], 1));
  }
  const at::Tensor average = average_of(*together, 1, stack.member(1));
  CHECK(difference(average, average_of(*alone, 0, stack.solo[1].values)) < 1e-12);
  CHECK(difference(average, flat(stack.member(1))) > 1e-3);

  CHECK_FALSE(has_momentum(stack.specs[0]));
  CHECK(has_weight_decay(stack.specs[0]));
  for (const std::string wrapper : {"optim.SAM", "optim.Lookahead"}) {
    const Options spec = optim_spec(wrapper, {{"base", Value::Map{{"@", entry}}}});
    CHECK_THROWS_WITH(make_optimizer(std::span(&spec, 1), {{.name = "w", .value = at::ones({3})}}, 0),
                      Catch::Contains("optim.base") && Catch::Contains(entry));
  }
  const Options muon = optim_spec("optim.Muon", {{"rest", Value::Map{{"@", entry}}}});
  CHECK_THROWS_WITH(make_optimizer(std::span(&muon, 1), {{.name = "w", .value = at::ones({3, 3})}}, 0),
                    Catch::Contains("optim.rest") && Catch::Contains(entry));
  CHECK_THROWS_WITH(make_optimizer(std::vector{optim_spec("optim.AdamWScheduleFree", {{"betas", Value::List{0, 0.9}}})},
                                   {{.name = "w", .value = at::ones({3})}}, 0),
                    Catch::Contains("optim.betas"));
}

TEST_CASE("optimizers: Adafactor takes a convolution's kernel as a matrix of outputs") {
  const Options spec = optim_spec("optim.Adafactor", {{"lr", 0.1}});
  const at::Tensor values = at::sin(at::arange(48, at::kDouble)).to(test_device());
  at::Tensor kernel = values.clone().view({3, 4, 2, 2}), matrix = values.clone().view({3, 16});
  for (at::Tensor* value : {&kernel, &matrix}) {
    const auto optimizer = make_optimizer(std::span(&spec, 1), {{.name = "w", .value = *value}}, 0);
    const double rate = 0.1;
    for (int t = 0; t < 3; ++t) optimizer->step(std::vector{value->mul(0.3)}, std::span(&rate, 1));
  }
  CHECK(at::equal(kernel.view({3, 16}), matrix));
}

TEST_CASE("optimizers: L-BFGS goes on from its state in equal bytes, beyond its history") {
  const Options spec =
      optim_spec("optim.LBFGS", {{"history_size", 3}, {"max_iter", 2}, {"line_search_fn", "strong_wolfe"}});
  Problem whole(at::kFloat), resumed(at::kFloat);
  const auto first = make_optimizer(std::span(&spec, 1), whole.parameters(), 0);
  const double rate = 1;
  const auto step = [&](Problem& problem, Optimizer& optimizer, std::int64_t t) {
    take_step(
        optimizer, [&] { return problem.gradients(t); }, {.rates = std::span(&rate, 1)}, problem.loss(t),
        [&] { return problem.loss(t); });
  };
  for (std::int64_t t = 0; t < 6; ++t) step(whole, *first, t);
  const auto second = make_optimizer(std::span(&spec, 1), resumed.parameters(), 0);
  const auto saved = first->state(), restored = second->state();
  for (std::size_t i = 0; i < saved.size(); ++i) restored[i].tensor.copy_(saved[i].tensor);
  for (std::size_t i = 0; i < shapes.size(); ++i) resumed.values[i].copy_(whole.values[i]);
  for (std::int64_t t = 6; t < 10; ++t) {
    step(whole, *first, t);
    step(resumed, *second, t);
  }
  CHECK(at::equal(flat(whole.values), flat(resumed.values)));
}

TEST_CASE("optimizers: what evaluates again says when it cannot, and where it has no place") {
  const double rate = 0.1;
  for (const std::string name : {"optim.SAM", "optim.LBFGS"}) {
    const Options spec = optim_spec(name, name == "optim.SAM" ? Value::Map{{"base", "SGD"}} : Value::Map{});
    const auto optimizer = make_optimizer(std::span(&spec, 1), {{.name = "w", .value = at::ones({3})}}, 0);
    CHECK(optimizer->evaluates_again());
    CHECK_THROWS_WITH(optimizer->step(std::vector{at::ones({3})}, std::span(&rate, 1)),
                      Catch::Contains(name) && Catch::Contains("found none"));
  }
  const std::vector<Options> two(2, optim_spec("optim.LBFGS"));
  CHECK_THROWS_WITH(make_optimizer(two, {{.name = "w", .value = at::ones({2, 3})}}, 2),
                    Catch::Contains("recipe.lua:3") && Catch::Contains("group of 2"));
  const Options twice = optim_spec("optim.SAM", {{"base", Value::Map{{"@", "optim.LBFGS"}}}});
  CHECK_THROWS_WITH(make_optimizer(std::span(&twice, 1), {{.name = "w", .value = at::ones({3})}}, 0),
                    Catch::Contains("one evaluation a step") && Catch::Contains("optim.LBFGS"));
  CHECK_THROWS_WITH(optim_spec("optim.Lookahead"), Catch::Contains("base"));
}

TEST_CASE("parameter groups: the first pattern that fits counts, and each must fit") {
  const auto make = [](Value::Map options) {
    const Options spec = optim_spec("optim.SGD", std::move(options));
    return make_optimizer(std::span(&spec, 1),
                          {{.name = "1.weight", .value = at::ones({2, 2})}, {.name = "1.bias", .value = at::ones({2})}},
                          0);
  };
  const auto group = [](Value params, double rate) { return Value::Map{{"params", std::move(params)}, {"lr", rate}}; };
  CHECK_THROWS_WITH(
      make({{"groups", Value::List{group("*.bias", 1), group("2.*", 1)}}}),
      Catch::Contains("recipe.lua:3") && Catch::Contains("optim.groups") && Catch::Contains("\"2.*\" in group 2"));
  try {
    make({{"groups", group("2.*", 1)}});
  } catch (const Error& error) {
    CHECK(error.hint() == "the parameters are 1.weight, 1.bias");
  }
  CHECK_THROWS_WITH(make({{"lr", 0}, {"groups", group("*", 1)}}), Catch::Contains("optim.lr"));
  CHECK_THROWS_WITH(make({{"groups", Value::Map{{"lr", 1}}}}), Catch::Contains("params"));
  CHECK_THROWS_WITH(make({{"groups", group("*", -1)}}), Catch::Contains("lr"));
  CHECK_THROWS_WITH(make({{"groups", Value::Map{{"params", "*"}, {"momentun", 1}}}}), Catch::Contains("momentun"));
  CHECK_THROWS_WITH(make({{"layer_decay", 0}}), Catch::Contains("layer_decay"));

  // A group's own rate, whatever the schedule: the bias moves twice as far.
  const Options spec = optim_spec("optim.SGD", {{"lr", 0.1}, {"groups", group("?.b*s", 0.2)}});
  const at::Tensor weight = at::ones({2, 2}), bias = at::ones({2});
  const double rate = 0.05;
  make_optimizer(std::span(&spec, 1), {{.name = "1.weight", .value = weight}, {.name = "1.bias", .value = bias}}, 0)
      ->step(std::vector{at::ones({2, 2}), at::ones({2})}, std::span(&rate, 1));
  CHECK(difference(weight, at::full({2, 2}, 0.95)) < 1e-7);
  CHECK(difference(bias, at::full({2}, 0.9)) < 1e-7);
}

TEST_CASE("optimizers: Muon takes the matrices between the first and the last, or those that are named") {
  const auto moved = [](Value::Map options) {
    options["rest"] = Value::Map{{"@", "optim.SGD"}, {"lr", 0.0}};
    const Options spec = optim_spec("optim.Muon", std::move(options));
    std::vector<OptimizedParameter> parameters;
    std::vector<at::Tensor> gradients;
    for (const std::string name : {"1.weight", "1.bias", "3.weight", "5.weight"}) {
      parameters.push_back({.name = name, .value = name == "1.bias" ? at::ones({3}) : at::ones({3, 3})});
      gradients.push_back(at::ones_like(parameters.back().value));
    }
    const double rate = 0.1;
    make_optimizer(std::span(&spec, 1), parameters, 0)->step(gradients, std::span(&rate, 1));
    std::string names;
    for (const OptimizedParameter& one : parameters)
      if (!at::equal(one.value, at::ones_like(one.value))) names += one.name + " ";
    return names;
  };
  CHECK(moved({}) == "3.weight ");
  CHECK(moved({{"params", Value::List{"5.*", "1.w*"}}}) == "1.weight 5.weight ");
  CHECK_THROWS_WITH(moved({{"params", "*.bias"}}), Catch::Contains("optim.params") && Catch::Contains("*.bias"));
}

}  // namespace trainlab::optimizers_test

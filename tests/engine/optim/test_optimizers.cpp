// What holds for all optimizers.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "optim/optimizer.h"
#include "optimizer_problems.h"
#include "specs.h"
#include "support/stand_in_device.h"

namespace trainlab::optimizers_test {

TEST_CASE("optimizers: each says which rates are usual, and a wrapper has those of its base") {
  for (const Entry* entry : optim_registry().of_kind("optimizer")) {
    INFO(entry->name);
    if (entry->find("base")) continue;
    const Options spec = optim_spec(entry->name, {});
    CHECK(largest_usual_rate(spec) > 0);
    CHECK(largest_usual_rate(spec) >= learning_rate(spec));
  }
  CHECK(largest_usual_rate(optim_spec("optim.SGD", {})) == 1);
  // A factor of the steps that the optimizer finds itself.
  CHECK(largest_usual_rate(optim_spec("optim.Prodigy", {})) == 1);
  CHECK(largest_usual_rate(optim_spec("optim.LBFGS", {})) == 1);
  CHECK(finds_step_size(optim_spec("optim.Prodigy", {})));
  CHECK(finds_step_size(optim_spec("optim.Rprop", {})));
  CHECK_FALSE(finds_step_size(optim_spec("optim.SGD", {})));
  CHECK_FALSE(finds_step_size(optim_spec("optim.LBFGS", {})));
  CHECK(finds_step_size(optim_spec("optim.LBFGS", {{"line_search_fn", "strong_wolfe"}})));
  const Value adam = Value::Map{{"@", "optim.Adam"}};
  CHECK(largest_usual_rate(optim_spec("optim.SAM", {{"base", adam}})) ==
        largest_usual_rate(optim_spec("optim.Adam", {})));
}

TEST_CASE("optimizers: equal to PyTorch's over 100 steps") {
  for (const Value& golden : optim_golden()["optimizers"].list()) {
    const std::string& name = golden["name"].string();
    INFO(name);
    const std::string& entry = golden["entry"].string();
    Problem problem(at::kDouble);
    Value::Map options = golden["options"].map();
    if (entry == "optim.Muon") {
      problem.make_matrices();
      options["params"] = Value::List{"*"};
    }
    const Options spec = optim_spec(entry, std::move(options));
    CHECK(learning_rate(spec) == golden["rate"].number());
    const auto optimizer = make_optimizer(std::span(&spec, 1), problem.parameters(), 0);
    const Value::List& steps = optim_golden()["steps"].list();
    std::size_t compared = 0;
    for (std::int64_t t = 0; t < 100; ++t) {
      const std::int64_t at = name.find("still") != std::string::npos ? 0 : t;
      const auto gradients = [&] {
        std::vector<at::Tensor> all = problem.gradients(at);
        if (name.find("late") != std::string::npos && t < 3) all.back() = at::Tensor();
        return all;
      };
      const double now = static_cast<double>(t), rate = golden["rate"].number() * (1 - now / 200);
      const double momentum = 1 - now / 400, decay = 1 - now / 300;
      StepInputs inputs{.rates = std::span(&rate, 1)};
      if (name.find("scheduled") != std::string::npos) {
        inputs.momentum = std::span(&momentum, 1);
        inputs.weight_decay = std::span(&decay, 1);
      }
      take_step(*optimizer, gradients, inputs, problem.loss(at), [&] { return problem.loss(at); });
      if (t + 1 != steps[compared].integer()) continue;
      const Value::List& expected = golden["values"].list()[compared].list();
      const at::Tensor found = flat(problem.values);
      REQUIRE(found.numel() == static_cast<std::int64_t>(expected.size()));
      double worst = 0;
      for (std::size_t i = 0; i < expected.size(); ++i)
        worst = std::max(worst, std::abs(found.const_data_ptr<double>()[i] - expected[i].number()));
      INFO("step " << t + 1);
      CHECK(worst < 1e-10);
      if (keeps_average(spec)) {
        std::vector<at::Tensor> average;
        for (const at::Tensor& value : problem.values) average.push_back(at::empty_like(value));
        optimizer->averaged_weights(0, average);
        const Value::List& averages = golden["averages"].list()[compared].list();
        for (std::size_t i = 0; i < averages.size(); ++i)
          CHECK(std::abs(flat(average).const_data_ptr<double>()[i] - averages[i].number()) < 1e-10);
      }
      ++compared;
    }
    CHECK(compared == steps.size());
  }
}

TEST_CASE("optimizers: a stacked member equals its solo run") {
  const std::int64_t steps = test_device().is_cpu() ? 100 : 20;  // the stand-in computes alike, only slower
  for (const Entry* entry : optimizers()) {
    INFO(entry->name);
    REQUIRE(member_settings().contains(entry->name));
    for (const auto& [type, tolerance] : {std::pair(at::kDouble, 1e-12), std::pair(at::kFloat, 1e-6)}) {
      INFO(c10::toString(type));
      Stack stack(entry->name, type);
      const auto together = stack.make_stacked();
      std::vector<std::unique_ptr<Optimizer>> alone;
      for (std::size_t m = 0; m < stack.solo.size(); ++m)
        alone.push_back(make_optimizer(std::span(&stack.specs[m], 1), stack.solo[m].parameters(), 0));
      for (std::int64_t t = 0; t < steps; ++t) {
        const auto without_first = [t](std::vector<at::Tensor> all) {
          if (t < 2) all.front() = at::Tensor();
          return all;
        };
        take_step(*together, [&] { return without_first(stack.gradients(t)); }, {.rates = stack.rates});
        for (std::size_t m = 0; m < alone.size(); ++m)
          take_step(*alone[m], [&] { return without_first(stack.solo[m].gradients(t)); },
                    {.rates = std::span(&stack.rates[m], 1)});
      }
      for (std::size_t m = 0; m < alone.size(); ++m) {
        INFO("member " << m);
        CHECK(difference(flat(stack.member(m)), flat(stack.solo[m].values)) < tolerance);
        CHECK(difference(flat(stack.member(m)), flat(Problem(type, 0.2 * static_cast<double>(m)).values)) >
              0.001 * static_cast<double>(steps));
      }
    }
  }
}

TEST_CASE("optimizers: a member's bytes do not depend on who is beside it") {
  for (const Entry* entry : optimizers()) {
    INFO(entry->name);
    Stack four(entry->name, at::kFloat), two(entry->name, at::kFloat);
    two.specs.erase(two.specs.begin() + 2, two.specs.end());
    two.solo.erase(two.solo.begin() + 2, two.solo.end());
    two.rates.resize(2);
    for (OptimizedParameter& parameter : two.stacked) parameter.value = parameter.value.narrow(0, 0, 2).clone();
    const auto with_four = four.make_stacked();
    const auto with_two = two.make_stacked();
    for (std::int64_t t = 0; t < 20; ++t) {
      take_step(*with_four, [&] { return four.gradients(t); }, {.rates = four.rates});
      take_step(*with_two, [&] { return two.gradients(t); }, {.rates = two.rates});
    }
    for (std::size_t m = 0; m < 2; ++m) CHECK(at::equal(flat(four.member(m)), flat(two.member(m))));
  }
}

TEST_CASE("optimizers: an inactive member keeps parameters and state") {
  for (const Entry* entry : optimizers()) {
    INFO(entry->name);
    Stack stack(entry->name, at::kFloat), reference(entry->name, at::kFloat);
    const auto optimizer = stack.make_stacked();
    const auto other = reference.make_stacked();
    const std::vector<std::uint8_t> active = {1, 0, 1, 0};
    for (std::int64_t t = 0; t < 3; ++t) {
      take_step(*optimizer, [&] { return stack.gradients(t); }, {.rates = stack.rates});
      take_step(*other, [&] { return reference.gradients(t); }, {.rates = reference.rates});
    }
    std::vector<at::Tensor> frozen;
    for (const auto& [name, tensor, per_member] : optimizer->state()) frozen.push_back(tensor.clone());
    const at::Tensor second = flat(stack.member(1)).clone();
    for (std::int64_t t = 3; t < 8; ++t) {
      take_step(*optimizer, [&] { return stack.gradients(t); }, {.rates = stack.rates, .active = active});
      take_step(*other, [&] { return reference.gradients(t); }, {.rates = reference.rates});
    }
    CHECK(at::equal(flat(stack.member(1)), second));
    CHECK(at::equal(flat(stack.member(0)), flat(reference.member(0))));
    const auto state = optimizer->state();
    for (std::size_t i = 0; i < state.size(); ++i) {
      INFO(state[i].name);
      CHECK(state[i].per_member);
      for (const std::int64_t m : {1, 3}) CHECK(at::equal(state[i].tensor.select(0, m), frozen[i].select(0, m)));
    }

    Problem problem(at::kFloat);
    const auto solo = make_optimizer(std::span(&stack.specs[0], 1), problem.parameters(), 0);
    const at::Tensor before = flat(problem.values);
    const std::vector<std::uint8_t> stopped{0};
    take_step(*solo, [&] { return problem.gradients(0); }, {.rates = std::span(&stack.rates[0], 1), .active = stopped});
    CHECK(at::equal(flat(problem.values), before));
    for (const auto& [name, tensor, per_member] : solo->state())
      CHECK((tensor.numel() == 0 || tensor.abs().max().item<double>() == 0));
  }
}

TEST_CASE("optimizers: a row that found_inf leaves out is as one that takes no step") {
  const auto number = [](bool is_lost) {
    return at::full({1}, is_lost ? 1.0 : 0.0, at::device(test_device()).dtype(at::kFloat));
  };
  const auto lost = [](const at::Tensor& gradient) { return at::full_like(gradient, std::nan("")); };
  std::size_t taken = 0;
  for (const Entry* entry : optimizers()) {
    INFO(entry->name);
    for (std::size_t m = 0; m < 4; ++m) {
      INFO(m);
      Problem problem(at::kFloat), reference(at::kFloat);
      const Stack stack(entry->name, at::kFloat);
      const auto optimizer = make_optimizer(std::span(&stack.specs[m], 1), problem.parameters(), 0);
      const auto other = make_optimizer(std::span(&stack.specs[m], 1), reference.parameters(), 0);
      if (!optimizer->takes_found_inf()) continue;
      ++taken;
      const std::span rate(&stack.rates[m], 1);
      for (std::int64_t t = 0; t < 6; ++t) {
        const bool is_lost = t == 0 || t == 3;
        std::vector<at::Tensor> gradients = problem.gradients(t);
        if (is_lost) std::ranges::transform(gradients, gradients.begin(), lost);
        const std::vector<at::Tensor> found_inf{number(is_lost)};
        optimizer->step(gradients, {.rates = rate, .found_inf = found_inf});
        if (!is_lost) other->step(reference.gradients(t), {.rates = rate});
      }
      CHECK(at::equal(flat(problem.values), flat(reference.values)));
      const auto state = optimizer->state(), expected = other->state();
      for (std::size_t i = 0; i < state.size(); ++i) {
        // optim.SGD counts all steps: a buffer of zeros is as good as an empty one.
        if (entry->name == "optim.SGD" && state[i].name == "step") continue;
        INFO(state[i].name);
        CHECK(at::equal(state[i].tensor, expected[i].tensor));
      }
    }
    Stack stack(entry->name, at::kFloat), reference(entry->name, at::kFloat);
    const auto optimizer = stack.make_stacked(), other = reference.make_stacked();
    if (!optimizer->takes_found_inf()) continue;
    const std::vector<std::uint8_t> active{1, 0, 1, 0};
    for (std::int64_t t = 0; t < 6; ++t) {
      const bool is_lost = t % 2 == 0;
      std::vector<at::Tensor> gradients = stack.gradients(t), found_inf;
      for (std::int64_t row = 0; row < 4; ++row) found_inf.push_back(number(is_lost && row % 2 == 1));
      if (is_lost)
        for (const at::Tensor& gradient : gradients)
          for (const std::int64_t row : {1, 3}) gradient.select(0, row).fill_(std::nan(""));
      optimizer->step(gradients, {.rates = stack.rates, .found_inf = found_inf});
      other->step(reference.gradients(t),
                  {.rates = reference.rates, .active = is_lost ? std::span(active) : std::span<const std::uint8_t>()});
    }
    for (const std::int64_t row : {0, 1, 2, 3}) CHECK(at::equal(flat(stack.member(row)), flat(reference.member(row))));
  }
  CHECK(taken >= 9);  // Adam and AdamW, and SGD without dampening
}

TEST_CASE("optimizers: a copied state continues in equal bytes") {
  for (const Entry* entry : optimizers()) {
    for (const bool is_stacked : {false, true}) {
      INFO(entry->name << (is_stacked ? " stacked" : " solo"));
      Stack first(entry->name, at::kFloat), second(entry->name, at::kFloat);
      const auto make = [&](Stack& stack) {
        return is_stacked ? stack.make_stacked()
                          : make_optimizer(std::span(&stack.specs[0], 1), stack.solo[0].parameters(), 0);
      };
      const auto step = [&](Stack& stack, Optimizer& optimizer, std::int64_t t) {
        if (is_stacked) {
          take_step(optimizer, [&] { return stack.gradients(t); }, {.rates = stack.rates});
        } else {
          take_step(optimizer, [&] { return stack.solo[0].gradients(t); }, {.rates = std::span(&stack.rates[0], 1)});
        }
      };
      const auto values = [&](Stack& stack) {
        std::vector<at::Tensor> all;
        for (const OptimizedParameter& parameter : stack.stacked) all.push_back(parameter.value);
        return is_stacked ? all : stack.solo[0].values;
      };
      const auto whole = make(first);
      for (std::int64_t t = 0; t < 7; ++t) step(first, *whole, t);
      const auto resumed = make(second);
      const auto saved = whole->state(), restored = resumed->state();
      REQUIRE(!saved.empty());
      REQUIRE(saved.size() == restored.size());
      for (std::size_t i = 0; i < saved.size(); ++i) {
        CHECK(saved[i].name == restored[i].name);
        restored[i].tensor.copy_(saved[i].tensor);
      }
      for (std::size_t i = 0; i < shapes.size(); ++i) values(second)[i].copy_(values(first)[i]);
      for (std::int64_t t = 7; t < 12; ++t) {
        step(first, *whole, t);
        step(second, *resumed, t);
      }
      CHECK(at::equal(flat(values(first)), flat(values(second))));
    }
  }
}

TEST_CASE("optimizers: names of the state") {
  const auto names = [](const std::string& entry, Value::Map options) {
    const Options spec = optim_spec(entry, std::move(options));
    std::vector<std::string> all;
    std::vector<OptimizedParameter> parameters{{.name = "2.weight", .value = at::ones({2, 2})}};
    for (const auto& [name, tensor, per_member] : make_optimizer(std::span(&spec, 1), parameters, 0)->state())
      all.push_back(name);
    return all;
  };
  using Names = std::vector<std::string>;
  CHECK(names("optim.SGD", {}).empty());
  CHECK(names("optim.SGD", {{"momentum", 0.9}}) == Names{"2.weight.momentum_buffer", "step"});
  CHECK(names("optim.Adam", {}) == Names{"2.weight.exp_avg", "2.weight.exp_avg_sq", "step"});
  CHECK(names("optim.AdamW", {{"amsgrad", true}}) ==
        Names{"2.weight.exp_avg", "2.weight.exp_avg_sq", "2.weight.max_exp_avg_sq", "step"});
}

TEST_CASE("optimizers: without gradient only weight decay acts, and on norms and biases only if told") {
  // AdamW with zero gradients: p ← p (1 − lr·decay). SGD: p ← p − lr·decay·p.
  for (const std::string entry : {"optim.AdamW", "optim.SGD"}) {
    for (const bool on_all : {true, false}) {
      for (const std::int64_t members : {0, 2}) {
        INFO(entry << " " << on_all << " " << members);
        const Options spec = optim_spec(entry, {{"weight_decay", 0.5}, {"decay_norms_and_biases", on_all}});
        const std::vector<Options> specs(members ? 2 : 1, spec);
        const auto shape = members ? std::vector<std::int64_t>{2, 3} : std::vector<std::int64_t>{3};
        const at::Tensor weight = at::ones(shape, at::kDouble), bias = at::ones(shape, at::kDouble);
        const auto optimizer = make_optimizer(
            specs, {{.name = "w", .value = weight, .decays = true}, {.name = "b", .value = bias, .decays = false}},
            members);
        const std::vector<double> rates(specs.size(), 0.1);
        optimizer->step(std::vector{at::zeros_like(weight), at::zeros_like(bias)}, rates);
        CHECK(difference(weight, at::full(shape, 0.95, at::kDouble)) < 1e-15);
        CHECK(difference(bias, at::full(shape, on_all ? 0.95 : 1.0, at::kDouble)) < 1e-15);
      }
    }
  }
}

TEST_CASE("optimizers: a largest value so far that is not a number gives way to the next number") {
  const Options spec = optim_spec("optim.Adamax");
  const at::Tensor value = at::ones({3}).to(test_device());
  const auto optimizer = make_optimizer(std::span(&spec, 1), {{.name = "w", .value = value}}, 0);
  const std::vector<OptimizerTensor> state = optimizer->state();
  const auto largest = std::ranges::find(state, "w.exp_inf", &OptimizerTensor::name);
  REQUIRE(largest != state.end());
  largest->tensor.fill_(std::nan(""));
  optimizer->step(std::vector{at::full_like(value, 0.5)}, std::vector{0.1});
  CHECK(difference(largest->tensor, at::full({3}, 0.5)) < 1e-6);
}

TEST_CASE("optimizers: a gradient with other strides counts by position") {
  for (const Entry* entry : optimizers()) {
    INFO(entry->name);
    const Options spec = optim_spec(entry->name, member_settings().at(entry->name)[0]);
    if (entry->name == "optim.Muon") continue;  // of one matrix, it takes the one that is named
    const at::Tensor gradient = at::sin(at::arange(35, at::kDouble)).view({5, 7});
    std::vector<at::Tensor> results;
    for (const at::Tensor& given : {gradient.t().contiguous(), gradient.t()}) {
      at::Tensor value = at::ones({7, 5}, at::kDouble);
      const double rate = 0.1;
      const auto optimizer = make_optimizer(std::span(&spec, 1), {{.name = "w", .value = value}}, 0);
      take_step(*optimizer, [&given = given] { return std::vector{given}; }, {.rates = std::span(&rate, 1)});
      results.push_back(value);
    }
    CHECK(at::equal(results[0], results[1]));
  }
}

TEST_CASE("optimizers: leaves that require grad, and an autograd graph that notices the step") {
  for (const std::int64_t members : {0, 2}) {
    const Options spec = optim_spec("optim.SGD", {{"momentum", 0.9}});
    const std::vector<Options> specs(members ? 2 : 1, spec);
    const at::Tensor value = at::ones({2, 3}).requires_grad_();
    const auto optimizer = make_optimizer(specs, {{.name = "w", .value = value}}, members);
    const auto version = value._version();
    optimizer->step(std::vector{at::ones({2, 3})}, std::vector<double>(specs.size(), 0.25));
    CHECK(at::equal(value.detach(), at::full({2, 3}, 0.75)));
    CHECK(value._version() > version);
    for (const auto& [name, tensor, per_member] : optimizer->state()) CHECK_FALSE(tensor.requires_grad());
  }
}

TEST_CASE("optimizers: what is refused") {
  const auto make = [](const Options& spec, const at::Tensor& value) {
    return make_optimizer(std::span(&spec, 1), {{.name = "2.weight", .value = value}}, 0);
  };
  const Options adam = optim_spec("optim.Adam");
  CHECK_THROWS_WITH(make(adam, at::ones({2}, at::kHalf)), Catch::Contains("2.weight") && Catch::Contains("float16"));
  CHECK_THROWS_WITH(make(adam, at::ones({2, 3}).t()), Catch::Contains("2.weight") && Catch::Contains("contiguous"));
  for (const Value::Map& options :
       {Value::Map{{"nesterov", true}}, Value::Map{{"nesterov", true}, {"momentum", 0.9}, {"dampening", 0.1}}})
    CHECK_THROWS_WITH(make(optim_spec("optim.SGD", options), at::ones({2})), Catch::Contains("recipe.lua:3") &&
                                                                                 Catch::Contains("optim.nesterov") &&
                                                                                 Catch::Contains("momentum > 0"));
  CHECK_THROWS_WITH(optim_spec("optim.Adam", {{"betas", Value::List{0.9, 1.0}}}), Catch::Contains("betas"));
  CHECK_THROWS_WITH(optim_spec("optim.Adam", {{"betas", Value::List{0.9}}}), Catch::Contains("betas"));
  CHECK_THROWS_WITH(optim_spec("optim.Adam", {{"lr", -0.1}}), Catch::Contains("lr"));
}

}  // namespace trainlab::optimizers_test

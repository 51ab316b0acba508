#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/concat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <map>

#include "optim/optimizer.h"
#include "optim/scaled_rate.h"
#include "specs.h"
#include "support/stand_in_device.h"

namespace trainlab::optimizers_test {

using trainlab::test::test_device;

namespace {

const std::vector<std::vector<std::int64_t>> shapes = {{4, 5}, {4}, {3, 4}, {3}};

// The problem of tests/golden/optim_golden.py, on the device of the suite; `shift` makes another one of it, for another
// member.
class Problem {
 public:
  explicit Problem(at::ScalarType type, double shift = 0) : shift_(shift) {
    std::int64_t first = 0;
    for (const auto& shape : shapes) {
      at::Tensor value = at::empty(shape, at::kDouble);
      for (std::int64_t i = 0; i < value.numel(); ++i)
        value.mutable_data_ptr<double>()[i] = std::sin(1 + 0.7 * static_cast<double>(first + i) + shift);
      first += value.numel();
      values.push_back(value.to(test_device(), type));
    }
  }

  std::vector<at::Tensor> gradients(std::int64_t t) const {
    std::vector<at::Tensor> all;
    std::int64_t first = 0;
    for (const at::Tensor& value : values) {
      const at::Tensor x = value.detach().to(at::kCPU, at::kDouble).contiguous();
      at::Tensor gradient = at::empty(value.sizes(), at::kDouble);
      for (std::int64_t i = 0; i < x.numel(); ++i) {
        const double k = static_cast<double>(first + i), at = x.const_data_ptr<double>()[i];
        gradient.mutable_data_ptr<double>()[i] = (0.2 + 0.3 * std::fmod(k, 7)) * at + 0.3 * std::cos(3 * at) +
                                                 0.5 * std::sin(0.3 * static_cast<double>(t) + k + shift_);
      }
      first += x.numel();
      all.push_back(gradient.to(value.options()));
    }
    return all;
  }

  double loss(std::int64_t t) const {
    double sum = 0;
    std::int64_t first = 0;
    for (const at::Tensor& value : values) {
      const at::Tensor x = value.detach().to(at::kCPU, at::kDouble).contiguous();
      for (std::int64_t i = 0; i < x.numel(); ++i) {
        const double k = static_cast<double>(first + i), at = x.const_data_ptr<double>()[i];
        sum += (0.2 + 0.3 * std::fmod(k, 7)) * at * at / 2 + 0.1 * std::sin(3 * at) +
               0.5 * std::sin(0.3 * static_cast<double>(t) + k + shift_) * at;
      }
      first += x.numel();
    }
    return sum;
  }

  // All tensors as matrices, for optimizers of nothing else.
  void make_matrices() {
    for (at::Tensor& value : values) value = value.dim() == 1 ? value.unsqueeze(1) : value;
  }

  std::vector<OptimizedParameter> parameters() const {
    std::vector<OptimizedParameter> all;
    for (std::size_t i = 0; i < values.size(); ++i)
      all.push_back({.name = std::to_string(i + 1) + ".p", .value = values[i], .decays = values[i].dim() > 1});
    return all;
  }

  std::vector<at::Tensor> values;

 private:
  double shift_;
};

at::Tensor flat(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& tensor : tensors) parts.push_back(tensor.reshape({-1}).to(at::kCPU, at::kDouble));
  return at::concat(parts);
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  return a.to(at::kCPU, at::kDouble).sub(b.to(at::kCPU, at::kDouble)).abs().max().item<double>();
}

// A step at the problem's present gradients, which are evaluated again where the optimizer wants that.
void take_step(
    Optimizer& optimizer, const std::function<std::vector<at::Tensor>()>& gradients, StepInputs inputs, double loss = 0,
    const std::function<double()>& loss_again = [] { return 0.0; }) {
  std::vector<at::Tensor> again;
  const Reevaluate reevaluate = [&] {
    again = gradients();
    return Evaluation{.loss = at::full({}, loss_again(), at::kDouble), .gradients = again};
  };
  if (optimizer.evaluates_again()) {
    inputs.loss = at::full({}, loss, at::kDouble);
    inputs.reevaluate = &reevaluate;
  }
  optimizer.step(gradients(), inputs);
}

// Settings of each optimizer's members in the tests below, which walk the registry: a new optimizer needs some here.
Value adam_of(double rate) { return Value::Map{{"@", "optim.Adam"}, {"lr", rate}}; }

const std::map<std::string, std::vector<Value::Map>>& member_settings() {
  static const std::map<std::string, std::vector<Value::Map>> settings = {
      {"optim.SGD",
       {{{"lr", 0.05}, {"momentum", 0.9}, {"nesterov", true}, {"weight_decay", 0.1}},
        {{"lr", 0.01}},
        {{"lr", 0.02}, {"momentum", 0.8}, {"dampening", 0.3}},
        {{"lr", 0.03}, {"momentum", 0.5}, {"weight_decay", 0.3}, {"decay_norms_and_biases", false}}}},
      {"optim.Adam",
       {{{"lr", 0.02}, {"weight_decay", 0.1}},
        {{"lr", 0.01}, {"betas", Value::List{0.8, 0.9}}, {"amsgrad", true}},
        {{"lr", 0.03}, {"eps", 1e-4}},
        {{"lr", 0.01}, {"weight_decay", 0.5}, {"decay_norms_and_biases", false}}}},
      {"optim.AdamW",
       {{{"lr", 0.02}, {"weight_decay", 0.1}},
        {{"lr", 0.01}, {"betas", Value::List{0.8, 0.9}}, {"amsgrad", true}},
        {{"lr", 0.03}, {"eps", 1e-4}},
        {{"lr", 0.01}, {"weight_decay", 0.5}, {"decay_norms_and_biases", false}}}},
      {"optim.Adamax",
       {{{"lr", 0.02}, {"weight_decay", 0.1}},
        {{"lr", 0.01}, {"betas", Value::List{0.8, 0.9}}},
        {{"lr", 0.03}, {"eps", 1e-4}},
        {{"lr", 0.01}, {"layer_decay", 0.8}}}},
      {"optim.NAdam",
       {{{"lr", 0.02}, {"weight_decay", 0.1}},
        {{"lr", 0.01}, {"betas", Value::List{0.8, 0.9}}},
        {{"lr", 0.03}, {"momentum_decay", 0.1}},
        {{"lr", 0.01}, {"weight_decay", 0.5}, {"decoupled_weight_decay", true}}}},
      {"optim.RAdam",
       {{{"lr", 0.02}, {"weight_decay", 0.1}},
        {{"lr", 0.02}, {"betas", Value::List{0.8, 0.9}}},
        {{"lr", 0.03}, {"eps", 1e-4}},
        {{"lr", 0.02}, {"weight_decay", 0.5}, {"decoupled_weight_decay", true}}}},
      {"optim.Adagrad",
       {{{"lr", 0.1}, {"weight_decay", 0.1}},
        {{"lr", 0.05}, {"lr_decay", 0.01}},
        {{"lr", 0.1}, {"initial_accumulator_value", 0.3}},
        {{"lr", 0.2}, {"eps", 1e-3}}}},
      {"optim.Adadelta",
       {{{"lr", 1}, {"weight_decay", 0.1}},
        {{"lr", 0.9}, {"rho", 0.8}},
        {{"lr", 1}, {"eps", 1e-4}},
        {{"lr", 2}, {"layer_decay", 0.8}}}},
      {"optim.RMSprop",
       {{{"lr", 0.01}, {"weight_decay", 0.1}},
        {{"lr", 0.01}, {"momentum", 0.8}},
        {{"lr", 0.01}, {"centered", true}, {"eps", 1e-2}},
        {{"lr", 0.02}, {"alpha", 0.9}}}},
      {"optim.Rprop",
       {{{"lr", 0.02}},
        {{"lr", 0.01}, {"etas", Value::List{0.4, 1.1}}},
        {{"lr", 0.03}, {"step_sizes", Value::List{1e-3, 0.1}}},
        {{"lr", 0.01}}}},
      {"optim.ASGD",
       {{{"lr", 0.05}, {"weight_decay", 0.1}},
        {{"lr", 0.05}, {"t0", 10}},
        {{"lr", 0.05}, {"lambd", 0.1}, {"alpha", 0.5}},
        {{"lr", 0.02}}}},
      {"optim.Lion",
       {{{"lr", 0.01}, {"weight_decay", 0.1}},
        {{"lr", 0.01}, {"betas", Value::List{0.8, 0.9}}},
        {{"lr", 0.02}},
        {{"lr", 0.01}, {"weight_decay", 0.5}, {"decay_norms_and_biases", false}}}},
      {"optim.LAMB",
       {{{"lr", 0.02}, {"weight_decay", 0.1}},
        {{"lr", 0.02}, {"betas", Value::List{0.8, 0.9}}},
        {{"lr", 0.03}, {"eps", 1e-3}},
        {{"lr", 0.02}, {"weight_decay", 0.5}, {"decay_norms_and_biases", false}}}},
      {"optim.Adafactor",
       {{{"lr", 0.05}, {"weight_decay", 0.1}},
        {{"lr", 0.1}, {"beta2_decay", -0.5}},
        {{"lr", 0.1}, {"d", 2.0}, {"eps", Value::List{1e-3, 0.1}}},
        {{"lr", 0.02}}}},
      {"optim.SGDScheduleFree",
       {{{"lr", 0.3}, {"weight_decay", 0.1}},
        {{"lr", 0.1}, {"momentum", 0.5}},
        {{"lr", 0.2}},
        {{"lr", 0.3}, {"layer_decay", 0.8}}}},
      {"optim.AdamWScheduleFree",
       {{{"lr", 0.02}, {"weight_decay", 0.1}},
        {{"lr", 0.02}, {"betas", Value::List{0.8, 0.9}}},
        {{"lr", 0.03}, {"eps", 1e-4}},
        {{"lr", 0.05}}}},
      {"optim.Prodigy",
       {{{"d0", 1e-2}, {"weight_decay", 0.1}},
        {{"d0", 1e-2}, {"betas", Value::List{0.8, 0.9}}},
        {{"d0", 1e-3}, {"use_bias_correction", true}},
        {{"d0", 1e-2}, {"safeguard_warmup", true}}}},
      {"optim.SOAP",
       {{{"lr", 0.02}, {"weight_decay", 0.1}},
        {{"lr", 0.02}, {"betas", Value::List{0.8, 0.9}}},
        {{"lr", 0.03}, {"max_precond_dim", 4}},
        {{"lr", 0.02}, {"precondition_frequency", 2}}}},
      {"optim.Muon",
       {{{"lr", 0.02}, {"params", Value::List{"3.p"}}, {"rest", adam_of(0.01)}},
        {{"lr", 0.01}, {"params", Value::List{"3.p"}}, {"nesterov", false}, {"rest", adam_of(0.02)}},
        {{"lr", 0.03}, {"params", Value::List{"3.p"}}, {"momentum", 0.5}, {"rest", adam_of(0.01)}},
        {{"lr", 0.02}, {"params", Value::List{"3.p"}}, {"rest", adam_of(0.03)}}}},
      {"optim.SAM",
       {{{"base", adam_of(0.02)}, {"rho", 0.1}},
        {{"base", adam_of(0.01)}},
        {{"base", adam_of(0.03)}, {"rho", 0.5}},
        {{"base", adam_of(0.02)}, {"rho", 0.2}}}},
      {"optim.Lookahead",
       {{{"base", adam_of(0.02)}},
        {{"base", adam_of(0.01)}, {"k", 3}},
        {{"base", adam_of(0.03)}, {"alpha", 0.9}},
        {{"base", adam_of(0.02)}, {"k", 1}}}},
  };
  return settings;
}

// M problems, solved by one stacked optimizer and by M optimizers alone.
struct Stack {
  Stack(const std::string& entry, at::ScalarType type) {
    const auto& settings = member_settings().at(entry);
    for (std::size_t m = 0; m < settings.size(); ++m) {
      specs.push_back(optim_spec(entry, settings[m]));
      solo.emplace_back(type, 0.2 * static_cast<double>(m));
      rates.push_back(learning_rate(specs.back()));
    }
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      std::vector<at::Tensor> slices;
      for (const Problem& problem : solo) slices.push_back(problem.values[i]);
      stacked.push_back({.name = std::to_string(i + 1) + ".p",
                         .value = at::stack(slices),
                         .decays = solo.front().values[i].dim() > 1});
    }
  }
  std::int64_t members() const { return static_cast<std::int64_t>(specs.size()); }
  std::unique_ptr<Optimizer> make_stacked() const { return make_optimizer(specs, stacked, members()); }

  // The stacked gradients at the stacked values, in each member's own problem.
  std::vector<at::Tensor> gradients(std::int64_t t) const {
    std::vector<std::vector<at::Tensor>> slices(stacked.size());
    for (std::size_t m = 0; m < solo.size(); ++m) {
      Problem at_slice = solo[m];
      for (std::size_t i = 0; i < stacked.size(); ++i)
        at_slice.values[i] = stacked[i].value.select(0, static_cast<std::int64_t>(m));
      const auto gradients = at_slice.gradients(t);
      for (std::size_t i = 0; i < stacked.size(); ++i) slices[i].push_back(gradients[i]);
    }
    std::vector<at::Tensor> all;
    for (const auto& slice : slices) all.push_back(at::stack(slice));
    return all;
  }

  std::vector<at::Tensor> member(std::size_t m) const {
    std::vector<at::Tensor> slices;
    for (const OptimizedParameter& parameter : stacked)
      slices.push_back(parameter.value.select(0, static_cast<std::int64_t>(m)));
    return slices;
  }

  std::vector<Options> specs;
  std::vector<double> rates;
  std::vector<Problem> solo;
  std::vector<OptimizedParameter> stacked;
};

// All that take members.
std::vector<const Entry*> optimizers() {
  std::vector<const Entry*> all = optim_registry().of_kind("optimizer");
  std::erase_if(all, [](const Entry* entry) { return entry->name == "optim.LBFGS"; });
  return all;
}

}  // namespace

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

TEST_CASE("optimizers: bytes of state for each weight of a matrix of 1024 by 4096") {
  const auto bytes = [](const std::string& entry, Value::Map options, const std::vector<std::int64_t>& shape) {
    const Options spec = optim_spec(entry, std::move(options));
    const at::Tensor value = at::empty(shape, at::device(at::kMeta).dtype(at::kFloat));
    double sum = 0;
    for (const auto& [name, tensor, per_member] :
         make_optimizer(std::span(&spec, 1), {{.name = "w", .value = value}}, 0)->state())
      sum += name == "step" ? 0 : static_cast<double>(tensor.nbytes());
    return sum / static_cast<double>(value.numel());
  };
  const std::vector<std::int64_t> matrix{1024, 4096};
  CHECK(bytes("optim.SGD", {}, matrix) == 0);
  CHECK(bytes("optim.SGD", {{"momentum", 0.9}}, matrix) == 4);
  CHECK(bytes("optim.LAMB", {}, matrix) == 8);
  CHECK(bytes("optim.AdamW", {}, matrix) == 8);
  for (const std::string adam : {"optim.Adam", "optim.AdamW"}) {
    CHECK(bytes(adam, {{"state", "bfloat16"}}, matrix) == 4);
    CHECK(bytes(adam, {{"state", "8bit"}}, matrix) == 2 + 8.0 / 256);
    CHECK(bytes(adam, {{"state", "8bit"}}, {4095}) == 8);  // a small tensor
  }
  CHECK(bytes("optim.Lion", {}, matrix) == 4);
  CHECK(bytes("optim.Lion", {{"state", "bfloat16"}}, matrix) == 2);
  CHECK(bytes("optim.Lion", {{"state", "8bit"}}, matrix) == 1 + 4.0 / 256);
  CHECK(bytes("optim.SGDScheduleFree", {}, matrix) == Approx(4).epsilon(1e-5));  // and two numbers
  CHECK(bytes("optim.AdamWScheduleFree", {}, matrix) == Approx(8).epsilon(1e-5));
  CHECK(bytes("optim.Prodigy", {}, matrix) == Approx(16).epsilon(1e-5));  // and three numbers
  CHECK(bytes("optim.SOAP", {}, {1024, 1024}) == 24);
  CHECK(bytes("optim.SOAP", {}, matrix) == 8 + 8 * (1024.0 / 4096 + 4096.0 / 1024));
  CHECK(bytes("optim.SOAP", {{"max_precond_dim", 2048}}, matrix) == 8 + 8 * 1024.0 / 4096);
  CHECK(bytes("optim.SOAP", {}, {4096}) == 8);
  CHECK(bytes("optim.Adafactor", {}, matrix) == 4.0 / 1024 + 4.0 / 4096);
  CHECK(bytes("optim.Adafactor", {}, {4096}) == 4);
  CHECK(bytes("optim.Adafactor", {}, {64, 32, 3, 3}) == 4.0 / 64 + 4.0 / 288);
}

TEST_CASE("optimizers: states of 8 bits and of bfloat16 over 100 steps") {
  for (const Value& golden : optim_golden()["lean"].list()) {
    const Options spec = optim_spec(golden["entry"].string(), golden["options"].map());
    INFO(golden["entry"].string() << " " << spec.string("state"));
    const at::Tensor k = at::arange(5000, at::kDouble).to(test_device());
    at::Tensor value = k.mul(0.7).add(1).sin().view({50, 100});
    const auto optimizer = make_optimizer(std::span(&spec, 1), {{.name = "w", .value = value}}, 0);
    const double rate = golden["rate"].number();
    const Value::List& steps = optim_golden()["steps"].list();
    std::size_t compared = 0;
    for (std::int64_t t = 0; t < 100; ++t) {
      const at::Tensor x = value.flatten(), curve = k.remainder(7).mul(0.3).add(0.2);
      const at::Tensor plain = curve * x + x.mul(3).cos().mul(0.3) + k.add(0.3 * static_cast<double>(t)).sin().mul(0.5);
      const at::Tensor gradient = plain.mul(at::full_like(k, 10).pow(k.remainder(5).neg()));
      optimizer->step(std::vector{gradient.view_as(value)}, std::span(&rate, 1));
      if (t + 1 != steps[compared].integer()) continue;
      const Value::List& expected = golden["values"].list()[compared].list();
      const at::Tensor found = value.flatten().to(at::kCPU);
      double worst = 0;
      for (std::size_t i = 0; i < expected.size(); ++i)
        worst = std::max(worst, std::abs(found.const_data_ptr<double>()[83 * i] - expected[i].number()));
      INFO("step " << t + 1);
      CHECK(worst < 1e-10);
      ++compared;
    }
    CHECK(compared == steps.size());
  }
}

namespace {

// Two large matrices and a small one, of one or several members that have problems of their own.
struct LargeProblem {
  LargeProblem(const Options& spec, std::vector<std::int64_t> its_members, bool is_stacked) : members(its_members) {
    for (const std::int64_t size : {70, 64, 3}) {
      std::vector<at::Tensor> slices;
      for (const std::int64_t m : members)
        slices.push_back(at::arange(size * 71, at::kFloat).mul(0.7).add(static_cast<double>(m)).sin().view({size, 71}));
      values.push_back((is_stacked ? at::stack(slices) : slices[0]).to(test_device()));
    }
    std::vector<OptimizedParameter> parameters;
    for (const at::Tensor& value : values)
      parameters.push_back({.name = std::to_string(parameters.size() + 1) + ".w", .value = value});
    const std::vector<Options> specs(is_stacked ? members.size() : 1, spec);
    optimizer = make_optimizer(specs, parameters, is_stacked ? static_cast<std::int64_t>(members.size()) : 0);
  }

  void step(std::int64_t t, std::span<const std::uint8_t> active = {}) {
    std::vector<at::Tensor> gradients;
    for (const at::Tensor& value : values) gradients.push_back(value.mul(0.5).add(0.1 * static_cast<double>(t % 3)));
    const bool is_stacked = values[0].dim() == 3;
    const std::vector<double> rates(is_stacked ? members.size() : 1, 0.01);
    optimizer->step(gradients, rates, active);
  }

  std::vector<std::int64_t> members;
  std::vector<at::Tensor> values;
  std::unique_ptr<Optimizer> optimizer;
};

}  // namespace

TEST_CASE("optimizers: lean states of stacked members, of members that rest, and after a restart") {
  for (const std::string entry : {"optim.Adam", "optim.AdamW", "optim.Lion"}) {
    for (const std::string state : {"bfloat16", "8bit"}) {
      INFO(entry << " " << state);
      const Options spec = optim_spec(entry, {{"state", state}, {"weight_decay", 0.1}});
      LargeProblem together(spec, {0, 1, 2}, true), alone(spec, {1}, false), resting(spec, {0, 1, 2}, true);
      for (std::int64_t t = 0; t < 10; ++t) {
        together.step(t);
        alone.step(t);
      }
      for (std::size_t i = 0; i < alone.values.size(); ++i)
        CHECK(at::equal(together.values[i].select(0, 1), alone.values[i]));

      const std::vector<std::uint8_t> first_two = {1, 1, 0};
      resting.step(0);
      const at::Tensor third = resting.values[0].select(0, 2).clone();
      for (std::int64_t t = 1; t < 10; ++t) resting.step(t, first_two);
      CHECK(at::equal(resting.values[0].select(0, 1), alone.values[0]));
      CHECK(at::equal(resting.values[0].select(0, 2), third));

      LargeProblem resumed(spec, {1}, false);
      const auto saved = alone.optimizer->state(), restored = resumed.optimizer->state();
      REQUIRE(saved.size() == restored.size());
      for (std::size_t i = 0; i < saved.size(); ++i) {
        CHECK(saved[i].name == restored[i].name);
        restored[i].tensor.copy_(saved[i].tensor);
      }
      for (std::size_t i = 0; i < alone.values.size(); ++i) resumed.values[i].copy_(alone.values[i]);
      for (std::int64_t t = 10; t < 15; ++t) {
        alone.step(t);
        resumed.step(t);
      }
      for (std::size_t i = 0; i < alone.values.size(); ++i) CHECK(at::equal(alone.values[i], resumed.values[i]));
    }
  }
}

TEST_CASE("optimizers: a group can keep its state in another form, and an optimizer without lean states says so") {
  const Options spec =
      optim_spec("optim.AdamW", {{"state", "8bit"}, {"groups", Value::Map{{"params", "1.*"}, {"state", "full"}}}});
  const at::Tensor value = at::ones({64, 64});
  const auto optimizer = make_optimizer(std::span(&spec, 1),
                                        {{.name = "1.w", .value = value}, {.name = "2.w", .value = value.clone()}}, 0);
  std::map<std::string, std::string> types;
  for (const auto& [name, tensor, per_member] : optimizer->state()) types[name] = c10::toString(tensor.scalar_type());
  CHECK(types == std::map<std::string, std::string>{{"1.w.exp_avg", "Float"},
                                                    {"1.w.exp_avg_sq", "Float"},
                                                    {"2.w.exp_avg", "Byte"},
                                                    {"2.w.exp_avg.largest", "Float"},
                                                    {"2.w.exp_avg_sq", "Byte"},
                                                    {"2.w.exp_avg_sq.largest", "Float"},
                                                    {"step", "Float"}});
  try {
    optim_spec("optim.SGD", {{"state", "8bit"}});
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("optim.SGD") != std::string::npos);
    CHECK(error.hint() == "optim.Adam, optim.AdamW and optim.Lion can keep a lean state");
  }
  CHECK_THROWS_WITH(optim_spec("optim.Adam", {{"state", "4bit"}}), Catch::Contains("state"));
}

TEST_CASE("optimizers: with 8 bits a gradient far below the largest of its block makes no larger a step") {
  // With squares rounded to 0 these steps would be 9 to 18 times those of AdamW.
  const Options lean = optim_spec("optim.Adam", {{"state", "8bit"}}), full = optim_spec("optim.Adam");
  const at::Tensor sizes = at::full({4096}, 1e-4).to(test_device());
  sizes.narrow(0, 0, 16).fill_(1);
  std::vector<double> moved;
  for (const Options& spec : {lean, full}) {
    const at::Tensor value = at::zeros_like(sizes);
    const auto optimizer = make_optimizer(std::span(&spec, 1), {{.name = "w", .value = value}}, 0);
    const double rate = 0.001;
    for (int t = 0; t < 50; ++t)
      optimizer->step(std::vector{at::arange(4096, at::kFloat).mul(0.7).add(t).sin().to(test_device()) * sizes},
                      std::span(&rate, 1));
    moved.push_back(value.narrow(0, 16, 200).abs().mean().item<double>());
  }
  CHECK(moved[0] < moved[1]);
}

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

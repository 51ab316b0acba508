// The problems that tests of optimizers solve, alone and stacked, and the settings of each optimizer's members.
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/ops/concat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "optim/optimizer.h"
#include "optim/scaled_rate.h"
#include "specs.h"
#include "support/stand_in_device.h"

namespace trainlab::optimizers_test {

using trainlab::test::test_device;

inline const std::vector<std::vector<std::int64_t>> shapes = {{4, 5}, {4}, {3, 4}, {3}};

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

inline at::Tensor flat(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& tensor : tensors) parts.push_back(tensor.reshape({-1}).to(at::kCPU, at::kDouble));
  return at::concat(parts);
}

inline double difference(const at::Tensor& a, const at::Tensor& b) {
  return a.to(at::kCPU, at::kDouble).sub(b.to(at::kCPU, at::kDouble)).abs().max().item<double>();
}

// A step at the problem's present gradients, which are evaluated again where the optimizer wants that.
inline void take_step(
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
inline Value adam_of(double rate) { return Value::Map{{"@", "optim.Adam"}, {"lr", rate}}; }

inline const std::map<std::string, std::vector<Value::Map>>& member_settings() {
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
inline std::vector<const Entry*> optimizers() {
  std::vector<const Entry*> all = optim_registry().of_kind("optimizer");
  std::erase_if(all, [](const Entry* entry) { return entry->name == "optim.LBFGS"; });
  return all;
}

}  // namespace trainlab::optimizers_test

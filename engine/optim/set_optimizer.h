// SetOptimizer: an optimizer over a ParameterSet that steps slice by slice (one parameter of one row), or with a fused
// operator for all parameters of a row.
#pragma once

#include <ATen/core/grad_mode.h>

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "parameter_groups.h"
#include "parameters.h"

namespace trainlab {

// The numbers of one step of one slice.
struct StepNumbers {
  double rate = 0;          // with the factors of group and layer
  double momentum = 1;      // factor of the momentum or first beta
  double weight_decay = 1;  // factor of the weight decay
  bool decays = true;       // false for norms and biases
  double t = 0;             // steps of this slice, this one included; 0 where steps are not counted
};

// The two options on weight decay that every optimizer with one has.
struct WeightDecay {
  double amount = 0;
  bool all = true;

  WeightDecay() = default;
  explicit WeightDecay(const Options& options)
      : amount(options.number("weight_decay")), all(options.boolean("decay_norms_and_biases")) {}
  double at(const StepNumbers& now) const { return now.decays || all ? amount * now.weight_decay : 0; }
};

class SetOptimizer : public Optimizer {
 public:
  using Optimizer::step;
  void step(std::span<const at::Tensor> gradients, const StepInputs& inputs) final;
  std::vector<OptimizerTensor> state() final { return set_.state(); }
  bool takes_found_inf() const override { return uses_fused_; }
  bool steps_by_parameter() const override { return true; }

 protected:
  SetOptimizer(std::span<const Options> specs, std::vector<OptimizedParameter> parameters, std::int64_t members,
               bool has_fused);

  // Updates one slice: parameter i of a row. `gradient` is the whole tensor, contiguous.
  virtual void step_slice(std::size_t i, std::int64_t row, const at::Tensor& gradient, const StepNumbers& numbers) = 0;
  // Updates all parameters of `indices` in a row, which have the same options and rate, unless `found_inf` is given and
  // is 1. Only with has_fused.
  virtual void step_fused(std::span<const at::Tensor> gradients, std::span<const std::size_t> indices, std::int64_t row,
                          const StepNumbers& numbers, const std::optional<at::Tensor>& found_inf);

  ParameterGroups options_;
  ParameterSet set_;

 private:
  StepNumbers numbers(const StepInputs& inputs, std::int64_t row, std::size_t i) const;

  bool uses_fused_;
  std::vector<std::vector<std::vector<std::size_t>>> alike_;  // per row, for the fused operators: lists of parameters
};

}  // namespace trainlab

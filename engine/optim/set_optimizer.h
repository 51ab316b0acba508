// SetOptimizer: an optimizer over a ParameterSet, whose step is the native kernel for stacked members on the CPU and
// the fused operator, member by member, otherwise.
#pragma once

#include <ATen/core/grad_mode.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "parameters.h"

namespace trainlab {

class SetOptimizer : public Optimizer {
 public:
  void step(std::span<const at::Tensor> gradients, std::span<const double> rates,
            std::span<const std::uint8_t> active) final {
    const at::NoGradGuard no_grad;
    set_.check_step(gradients, rates, active);
    if (set_.native()) {
      step_stacked(gradients, rates, active);
    } else {
      for (std::int64_t row = 0; row < set_.rows(); ++row)
        if (is_active(active, row)) step_fused(gradients, rates[static_cast<std::size_t>(row)], row);
    }
  }

  std::vector<std::pair<std::string, at::Tensor>> state() final { return set_.state(); }

 protected:
  SetOptimizer(std::vector<OptimizedParameter> parameters, std::int64_t members)
      : set_(std::move(parameters), members) {}

  ParameterSet set_;

 private:
  virtual void step_fused(std::span<const at::Tensor> gradients, double rate, std::int64_t row) = 0;
  virtual void step_stacked(std::span<const at::Tensor> gradients, std::span<const double> rates,
                            std::span<const std::uint8_t> active) = 0;
};

}  // namespace trainlab

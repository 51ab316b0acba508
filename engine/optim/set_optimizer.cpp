#include "set_optimizer.h"

#include <algorithm>
#include <stdexcept>

namespace trainlab {

SetOptimizer::SetOptimizer(std::span<const Options> specs, std::vector<OptimizedParameter> parameters,
                           std::int64_t members, bool has_fused)
    : options_(specs, parameters), set_(std::move(parameters), members) {
  uses_fused_ = has_fused && !(set_.device().is_cpu() && members > 0);
  // The fused operators would round weights in bfloat16 to the nearest.
  for (std::size_t i = 0; i < set_.size(); ++i) uses_fused_ = uses_fused_ && !is_rounded(set_[i].parameter);
  if (!uses_fused_) return;
  for (std::int64_t row = 0; row < set_.rows(); ++row) {
    auto& lists = alike_.emplace_back();
    for (std::size_t i = 0; i < set_.size(); ++i) {
      const auto fits = [&](const std::vector<std::size_t>& list) {
        const OptimizedParameter &one = set_[list.front()].parameter, &other = set_[i].parameter;
        return one.value.scalar_type() == other.value.scalar_type() && one.decays == other.decays &&
               options_.alike(row, list.front(), i);
      };
      const auto found = std::ranges::find_if(lists, fits);
      (found == lists.end() ? lists.emplace_back() : *found).push_back(i);
    }
  }
}

StepNumbers SetOptimizer::numbers(const StepInputs& inputs, std::int64_t row, std::size_t i) const {
  const auto r = static_cast<std::size_t>(row);
  return {.rate = inputs.rates[r] * options_.rate_factor(row, i),
          .momentum = inputs.momentum.empty() ? 1 : inputs.momentum[r],
          .weight_decay = inputs.weight_decay.empty() ? 1 : inputs.weight_decay[r],
          .decays = set_[i].parameter.decays,
          .t = 0};
}

void SetOptimizer::step(std::span<const at::Tensor> gradients, const StepInputs& inputs) {
  const at::NoGradGuard no_grad;
  set_.check_step(gradients, inputs);
  if (uses_fused_) {
    if (set_.device().is_meta()) return;  // a dry run: the fused operators take no memory
    for (std::int64_t row = 0; row < set_.rows(); ++row) {
      if (!is_active(inputs.active, row)) continue;
      std::optional<at::Tensor> found_inf;
      if (!inputs.found_inf.empty()) found_inf = inputs.found_inf[static_cast<std::size_t>(row)];
      for (const auto& indices : alike_[static_cast<std::size_t>(row)])
        step_fused(gradients, indices, row, numbers(inputs, row, indices.front()), found_inf);
    }
    return;
  }
  for (std::size_t i = 0; i < set_.size(); ++i) {
    if (!gradients[i].defined()) continue;
    const at::Tensor gradient = set_.gradient(gradients, i);
    for (std::int64_t row = 0; row < set_.rows(); ++row) {
      if (!is_active(inputs.active, row)) continue;
      StepNumbers now = numbers(inputs, row, i);
      if (set_.counts_steps()) now.t = ++set_.step_count(row, i);
      step_slice(i, row, gradient, now);
    }
    set_.changed(i);
  }
}

void SetOptimizer::step_fused(std::span<const at::Tensor>, std::span<const std::size_t>, std::int64_t,
                              const StepNumbers&, const std::optional<at::Tensor>&) {
  throw std::logic_error("SetOptimizer: no fused operator");
}

}  // namespace trainlab

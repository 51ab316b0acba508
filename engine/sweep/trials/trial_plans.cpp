#include "trials/trial_plans.h"

#include <utility>

#include "train/fit.h"
#include "train/stacking.h"

namespace trainlab {

namespace {

// Plans that are kept for the next trials of the same structure.
constexpr std::size_t most_plans = 16;

}  // namespace

TrialFit TrialPlans::fit(std::span<const double> point, std::int64_t trial, std::int64_t repeat) const {
  TrialFit fit{.options = plan_.build(point, trial, repeat), .repeat = repeat};
  if (!fit.is_task()) fit.structure = structure_of(fit.options);
  return fit;
}

const std::shared_ptr<const FitPlan>& TrialPlans::of(const TrialFit& fit) {
  if (plans_.size() >= most_plans && !plans_.contains(fit.structure)) plans_.clear();
  std::shared_ptr<const FitPlan>& plan = plans_[fit.structure];
  // A plan that cannot be shared is made anew, and so is a plan that could not be made before.
  if (!plan || fit.structure.empty()) {
    plan = std::make_shared<const FitPlan>(plan_.plan_fit(fit.options));
    std::vector<std::string> warnings = plan->warnings;
    if (std::optional<std::string> slow = slow_products(*plan)) warnings.push_back(*std::move(slow));
    for (const FitAddition& addition : additions_of(plan->options)) {
      if (std::string missed = addition.missed ? addition.missed(*plan) : ""; !missed.empty())
        warnings.push_back(std::move(missed));
    }
    if (const std::string why = plan_.why_no_stack(*plan); !why.empty())
      warnings.push_back("some trials cannot train in a stack: " + why);
    for (const std::string& warning : warnings) {
      const bool is_new = warnings_.keep(warning, warning);
      if (is_new && !context_.helps) context_.warn(warning);  // the process that leads plans most of these fits, too
    }
  }
  return plan;
}

std::int64_t TrialPlans::stack_of(const TrialFit& fit) { return fit.structure.empty() ? 1 : plan_.stack_of(*of(fit)); }

std::int64_t TrialPlans::stack_of(const LeasedTrial& trial) { return stack_of(fit(trial.point, trial.lease.trial, 1)); }

}  // namespace trainlab

// Plans fits in which memory.budget chooses the options that save memory.
#pragma once

#include <optional>

#include "train/fit_plan.h"

namespace trainlab {

// The plan of a fit with is_auto_memory(): plain where the training fits into the budget; else with the options, of
// those that memory.allow permits, that make the training fit for the least estimated time. Candidates are planned as
// fits that say the options themselves, and their memory is predicted (train/memory_prediction.h). FitPlan::chosen has
// the options, and settings.chosen is followed where it is given. `unpredicted`: bytes to leave free in addition, for
// what predictions have missed. Error{recipe} where a step cannot be predicted, and where nothing fits: with the least
// that is possible.
FitPlan plan_within_budget(const Options& fit, const RunSettings& settings, const DataParts* opened,
                           std::int64_t unpredicted = 0);

// Takes two steps and an evaluation of what plan_within_budget() has chosen, and returns a plan that is chosen once
// more if the training takes more memory than the budget has. nullopt where they do not.
std::optional<FitPlan> corrected_choice(const FitPlan& plan, const Options& fit, const RunSettings& settings);

}  // namespace trainlab

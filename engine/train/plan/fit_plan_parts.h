// Parts of plan_fit() that have files of their own, and a check that a fit repeats when it is resumed.
#pragma once

#include <string>
#include <vector>

#include "train/fit_plan.h"

namespace trainlab {

// The head, the loss and the metrics of a plan with data and a model.
void plan_objective(FitPlan& plan);

// The option `memory`, of a plan that has all else. `by_parameter`: Optimizer::steps_by_parameter().
void plan_memory(FitPlan& plan, bool by_parameter);

// Warnings about a fit with one model and a loss, each as "FILE:LINE: path: text".
std::vector<std::string> warnings_of(const FitPlan& plan);

// `trainlab extend --time`: Error{usage} unless the new total is more than `before`, the budget so far.
void check_more_time(const RunSettings& settings, double before);

}  // namespace trainlab

// The schedule and the stop rules of a fit: entries and a recipe's functions, in the order of the recipe.
#pragma once

#include <memory>
#include <vector>

#include "core/random.h"
#include "optim/schedule.h"
#include "train/fit_plan.h"
#include "train/run_handle.h"
#include "train/stop.h"

namespace trainlab {

// The option `schedule`; constant where there is none.
std::unique_ptr<Schedule> schedule_of(const Options& fit, const RunLength& length, Key key);

// The option `stop`. A function stop(run) is called with `run` and re-keyed from `key`, its place and the step.
std::vector<std::unique_ptr<StopRule>> stop_rules_of(const Options& fit, const FitPlan& plan,
                                                     std::shared_ptr<RunHandle> run, Key key);

}  // namespace trainlab

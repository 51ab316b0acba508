// The first steps of a fit, for a measurement. Private to the room.
#pragma once

#include <cstdint>
#include <functional>

#include "train/fit_plan.h"

namespace trainlab {

// Trains the plan's fit without a folder until `steps` steps have ended and their spans have been told, and, where it
// is given, `is_enough` says so in a later step; or until the fit ends by itself. Nothing is written, and the results
// are thrown away; of the functions in `on` only `start` is called. Raises the errors of the fit.
void run_few_steps(const FitPlan& plan, std::int64_t steps, const std::function<bool()>& is_enough = {});

}  // namespace trainlab

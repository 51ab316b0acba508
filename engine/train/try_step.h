// What `trainlab check --step` does beyond checking. Private to the module.
#pragma once

#include <string>

#include "train/fit_plan.h"

namespace trainlab {

// Takes one training and one validation step of a fit in its loop, without a folder, and tells what they measured.
// Nothing is written, and all of it is thrown away: of `on` only `start` is called, because a step of the recipe's own
// may need what it leaves in run.state. Errors are those of the fit itself.
std::string try_step(const FitPlan& plan);

}  // namespace trainlab

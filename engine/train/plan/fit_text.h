// What `trainlab check` prints of a fit.
#pragma once

#include <string>

#include "train/fit_plan.h"

namespace trainlab {

// The tree, data, length, FLOPs and the memory estimate.
std::string describe(const FitPlan& plan);

}  // namespace trainlab

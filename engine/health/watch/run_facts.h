#pragma once

#include "health/figures.h"
#include "train/fit_plan.h"

namespace trainlab {

// The facts of a fit before its first step. Reads labels of the training part, and at most a few MiB of the samples of
// both parts.
RunFacts run_facts(const FitPlan& plan);

}  // namespace trainlab

#pragma once

#include "health/figures.h"
#include "train/fit_plan.h"

namespace trainlab {

// Facts of a fit that are known before its first step. Reads labels of the training part, and at most a few MiB of the
// samples of both parts.
RunFacts run_facts(const FitPlan& plan);

}  // namespace trainlab

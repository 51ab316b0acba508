#pragma once

#include "health/figures.h"
#include "sample_facts.h"
#include "train/fit_plan.h"

namespace trainlab {

// Facts of a fit that are known before its first step. Reads labels of the training part. `samples`: of the plan's
// data.
RunFacts run_facts(const FitPlan& plan, const SampleFacts& samples);

}  // namespace trainlab

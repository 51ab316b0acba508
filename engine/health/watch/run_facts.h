#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset.h"
#include "health/figures.h"
#include "train/fit_plan.h"

namespace trainlab {

// Facts that the samples of a data set tell, whatever the run does with them.
struct SampleFacts {
  // For each sample that was found more than once in the training part, its places there.
  std::vector<std::vector<std::int64_t>> alike = {};
  double shared = unmeasured, repeated = unmeasured;  // as in RunFacts
};

// Reads at most a few MiB of the samples of both parts.
SampleFacts sample_facts(const DataParts& data);

// Facts of a fit that are known before its first step. Reads labels of the training part. `samples`: of the plan's
// data.
RunFacts run_facts(const FitPlan& plan, const SampleFacts& samples);

}  // namespace trainlab

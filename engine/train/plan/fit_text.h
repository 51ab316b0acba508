// The text of `trainlab check` for a fit.
#pragma once

#include <string>
#include <vector>

#include "run/stage.h"
#include "train/fit_plan.h"
#include "train/memory_prediction.h"

namespace trainlab {

// The tree, data, length, FLOPs and the memory estimate.
Checked describe(const FitPlan& plan);

// The same as data; `warnings` are those of the text.
Value fit_facts(const FitPlan& plan, const MemoryPrediction& memory, const std::vector<std::string>& warnings);

}  // namespace trainlab

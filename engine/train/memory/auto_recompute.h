// memory.recompute = "auto": the layers that are computed again so that a training step fits into a budget, at the
// least measured time.
#pragma once

#include <cstdint>

#include "train/fit_plan.h"

namespace trainlab {

// The price of what was chosen. Bytes are those that predict_memory() tells for the step as a whole, with
// copies_after_validation().
struct RecomputePrice {
  std::int64_t plain = 0, peak = 0;  // bytes at the peak without and with it
  double forward = 0, again = 0;     // seconds of a forward pass, and of what is computed again in a step
};

// Sets plan.recompute; to nothing where the plain step fits. Candidates are the plans of SegmentSearch and segments of
// one size; their memory is predicted by a dry run of each, their time by forward passes on zeros. Error{recipe} at
// `option` if the step cannot be predicted, or if the budget is below the least that recomputation reaches.
RecomputePrice recompute_within(FitPlan& plan, std::int64_t budget, const Options& memory);

}  // namespace trainlab

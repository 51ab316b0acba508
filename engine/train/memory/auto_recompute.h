// Chooses which layers are computed again, so that a training step fits into a budget and takes the least time.
#pragma once

#include <cstdint>

#include "searching.h"
#include "train/fit_plan.h"

namespace trainlab {

// The price of the chosen recomputation. Bytes are those that predict_memory() predicts for the training.
struct RecomputePrice {
  bool fits = true;                  // false: `peak` is the least that recomputation reaches, which is above the budget
  std::int64_t plain = 0, peak = 0;  // bytes of the training without and with recomputation
  double forward = 0, again = 0;     // seconds of a forward pass, and of the layers computed again in a step
};

// Seconds of a forward pass through the model's chain, the least of some passes on zeros.
double forward_seconds(const FitPlan& plan);

// Sets plan.recompute; it becomes empty where the plain training fits, and where no recomputation fits. The candidates
// are the plans of SegmentSearch, recompute_cheap(), and plans with segments of equal size. The memory of each is
// predicted by a dry run. With `nests`, segments may lie within others, which patterns of layers cannot express, and
// times are measured by forward passes on zeros; without, the arithmetic of layers, which is the same each time, stands
// for their time, and the price has no seconds. Error{recipe} at the option `recompute` of `memory` if the step cannot
// be predicted.
RecomputePrice recompute_within(FitPlan& plan, std::int64_t budget, const Options& memory, bool nests,
                                Searching& searching);

}  // namespace trainlab

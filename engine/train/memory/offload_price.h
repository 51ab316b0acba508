#pragma once

#include "train/fit_plan.h"

namespace trainlab {

// The time that a byte in a file (memory.offload) adds to a step, as a share of the step's: what the disk of
// plan.folder takes to write the byte and to read it again, measured with at most `bytes`, over the time of a forward
// and a backward pass. Less is added where there is free memory for the file. Error{run} where the disk is full.
double offload_price(const FitPlan& plan, std::int64_t bytes);

}  // namespace trainlab

#pragma once

#include "train/fit_plan.h"

namespace trainlab {

// The time that a byte in a file (memory.offload) adds to a step, as a share of the step's: what the disk of
// plan.folder takes to write the byte and to read it again, over the time of the step's passes. Moves `bytes`, at most
// 128 MiB, in whole mebibytes. Less is added where there is free memory for the file. Error{run} where the disk is
// full.
double offload_price(const FitPlan& plan, std::int64_t bytes);

}  // namespace trainlab

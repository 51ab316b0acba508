#pragma once

#include "train/fit_plan.h"

namespace trainlab {

// The time that memory.offload = "optimizer" adds to a step, as a share of the step's: what the disk of plan.folder
// takes to write the optimizer's state and to read it again, measured with some megabytes, over the time of a forward
// and a backward pass. Less is added where there is free memory for the state. Error{run} where the disk is full.
double offload_price(const FitPlan& plan);

}  // namespace trainlab

#pragma once

#include <cstddef>

#include "train/fit_plan.h"

namespace trainlab {

// Error{recipe} where a training step of `rows` members takes more memory than is free, before the first part of the
// memory is taken. The step is predicted only where the estimate by formulas, which costs nothing, says that the step
// takes much of the free memory. Under the limit of the process a step may be taken in parts: then the least part must
// fit.
void check_room(const FitPlan& plan, std::size_t rows);

}  // namespace trainlab

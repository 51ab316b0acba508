#pragma once

#include <cstddef>

#include "train/fit_plan.h"

namespace trainlab {

// Error{recipe} where the training of `rows` members takes more memory than is free, before any of the memory is taken.
// The memory is predicted by a dry run only if the estimate by formulas, which takes no time, shows that a step takes
// much of the free memory. Under a limit of the process a step may be taken in parts; then the smallest part must
// fit.
void check_room(const FitPlan& plan, std::size_t rows);
// Whether check_room() raises no error.
bool has_room(const FitPlan& plan, std::size_t rows);

}  // namespace trainlab

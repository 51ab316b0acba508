#pragma once

#include <cstdint>
#include <vector>

#include "train/fit_plan.h"

namespace trainlab {

// The bytes of each buffer of the loader that feeds a training, as Loader::buffer_bytes() tells them. `loader` and
// `accumulate`: those of the plan, or others in their place. `keys`: of the rows that train side by side.
std::vector<std::int64_t> training_buffers(const FitPlan& plan, LoaderOptions loader, std::int64_t accumulate,
                                           const std::vector<Key>& keys);

}  // namespace trainlab

// Schedules of a fit in a training of fewer steps. Private to the room.
#pragma once

#include <cstdint>

#include "core/registry.h"
#include "optim/schedule.h"

namespace trainlab {

// Replaces the schedules of `fit`, a spec whose checked form is `whole`, by functions: a training of `steps` steps runs
// through what they do in a training of `length`, at equal shares of both. A schedule that follows validations stays at
// its first factor.
void squeeze_schedules(Spec& fit, const Options& whole, const RunLength& length, std::int64_t steps);

}  // namespace trainlab

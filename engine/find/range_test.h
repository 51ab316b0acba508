// Range tests: trainings whose rate grows from step to step. Private to the room.
#pragma once

#include <cstdint>
#include <vector>

#include "find/rate_curve.h"
#include "trainings.h"

namespace trainlab {

// The first and the last rate of a range test.
inline constexpr double lowest_rate = 1e-6, highest_rate = 10;

// The losses of a training whose rate grows from the lowest to the highest; up to the last loss that is finite.
std::vector<RatePoint> range_test(Trainings& trainings, const Value& optimizer, std::int64_t steps, std::int64_t seed);

}  // namespace trainlab

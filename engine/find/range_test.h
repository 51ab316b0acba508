// Losses of the steps of short trainings at a rate that stays or grows from step to step. Private to the room.
#pragma once

#include <cstdint>
#include <vector>

#include "find/rate_curve.h"
#include "trainings.h"

namespace trainlab {

// A range test begins and ends here.
inline constexpr double lowest_rate = 1e-6, highest_rate = 10;

struct ShortTraining {
  Value optimizer;  // its spec; the rate in it does not count
  double rate = 0, growth = 1;
  std::int64_t steps = 0;
  std::int64_t seed = 1;  // of the weights and of the order
};

// The loss of each step; fewer than `steps` where a loss is not finite.
std::vector<double> losses_of(Trainings& trainings, const ShortTraining& training);

// The losses of a training whose rate grows from the lowest to the highest.
std::vector<RatePoint> range_test(Trainings& trainings, const Value& optimizer, std::int64_t steps, std::int64_t seed);

}  // namespace trainlab

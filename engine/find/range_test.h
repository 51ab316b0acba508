// Losses of the steps of short trainings at a rate that stays or grows from step to step. Private to the room.
#pragma once

#include <cstdint>
#include <vector>

#include "find/rate_curve.h"
#include "trainings.h"

namespace trainlab {

// The first and the last rate of a range test.
inline constexpr double lowest_rate = 1e-6, highest_rate = 10;

struct ShortTraining {
  Value optimizer;  // spec of the optimizer; its rate is replaced
  double rate = 0, growth = 1;
  std::int64_t steps = 0;
  std::int64_t seed = 1;  // seed of the weights and of the order of samples
};

// The loss of each step; the list is shorter than `steps` where a loss was not finite.
std::vector<double> losses_of(Trainings& trainings, const ShortTraining& training);

// The losses of a training whose rate grows from the lowest to the highest.
std::vector<RatePoint> range_test(Trainings& trainings, const Value& optimizer, std::int64_t steps, std::int64_t seed);

}  // namespace trainlab

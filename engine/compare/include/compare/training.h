// The facts that a comparison needs of one finished training, read off the rows of its validations.
// Pure functions; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/value.h"

namespace trainlab::compare {

// The value of a metric that a training is to reach.
struct Target {
  std::string metric;  // full name: "val.accuracy"
  double value = 0;
  bool minimize = true;  // whether smaller is better

  // False for a NaN.
  bool is_reached_by(double x) const { return minimize ? x <= value : x >= value; }
};

// A validation. The seconds are those of training from its first batch, by the steady clock.
struct Point {
  double seconds = 0;
  double value = 0;  // of the target's metric; NaN where it has none
};

struct Training {
  double seconds = 0;                  // from the first batch to the last commit
  std::optional<double> arrival = {};  // seconds to the target; nullopt: the training ended before
  bool is_first = false;             // the first validation had reached the target: the arrival was no later than that
  std::optional<double> value = {};  // of the metric, with the weights that the training delivers
  double best = 0;                   // the metric's best value of all validations; NaN where there is none
  std::int64_t validations = 0;
  bool has_failed = false;  // ended by a loss that is not finite

  Value to_value() const;
  // std::logic_error for what is no such value.
  static Training from_value(const Value& value);
};

// The training with these validations, in the order of their seconds. The arrival is interpolated between the first
// validation that has reached the target and the one before, so that a training is not credited with the time to its
// next validation (linear in the seconds).
Training training(std::span<const Point> validations, const Target& target);

// The best value of the validations that ended within `seconds`; nullopt where there is none.
std::optional<double> best_within(std::span<const Point> validations, double seconds, bool minimize);

}  // namespace trainlab::compare

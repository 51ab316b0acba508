// The facts of one finished training that a comparison needs, computed from the rows of its validations.
// Pure functions; any thread.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/value.h"

namespace trainlab::compare {

// The value of a metric that a training is to reach.
struct Target {
  std::string metric;  // full name: "val.accuracy"
  double value = 0;
  bool minimize = true;  // whether smaller is better

  // Whether x reaches the target; false for NaN.
  bool is_reached_by(double x) const { return minimize ? x <= value : x >= value; }
};

// A validation. The seconds count from the first batch of the training, by the steady clock.
struct Point {
  double seconds = 0;
  double value = 0;    // value of the target's metric; NaN where the validation has none
  double samples = 0;  // of training, until then
};

struct Training {
  double seconds = 0;                  // from the first batch to the last commit
  double watched = 0;                  // to the last validation with a value: a target reached later is not seen
  std::optional<double> arrival = {};  // seconds to the target; nullopt: the training ended without reaching it
  bool is_first = false;               // the first validation had reached the target: the true arrival may be earlier
  std::optional<double> value = {};    // value of the metric with the weights that the training delivers
  double best = 0;                     // best value of the metric in all validations; NaN where there is none
  double apart = std::numeric_limits<double>::quiet_NaN();  // usual samples between two validations; NaN: not known
  double samples = 0;                                       // of training, until the last validation
  double flops = std::numeric_limits<double>::quiet_NaN();  // of the whole training; NaN: not known
  bool has_failed = false;                                  // whether a loss that is not finite ended the training
  bool was_resumed = false;  // whether the training was interrupted and went on in another process

  // A training whose loss became not finite delivers no model: it reached no target and has no value.
  void fail();

  Value to_value() const;
  // Raises std::logic_error for a value of another shape.
  static Training from_value(const Value& value);
};

// The training with these validations, in the order of their seconds. The arrival is interpolated between the first
// validation that has reached the target and the one before, linearly in the seconds, so that the time until
// the next validation does not count. `apart` is left to the caller, who knows whether these are all validations.
Training training(std::span<const Point> validations, const Target& target);

// The usual samples of training between two validations; NaN where there are none, or their samples are not known.
double samples_apart(std::span<const Point> validations);
// Whether validations with this distance are farther apart than others by half or more; false for NaN.
bool is_much_farther(double apart, double other);
// The validations that count beside another training, whose validations have the distance `apart_in_other`: with the
// same noise, a training that validates more often has more chances to pass a target. All of them, or where those of
// the other are much farther apart, about as many as the other has, and the last.
std::vector<Point> counted(std::span<const Point> validations, double apart_in_other);

// The best value that a training had reached after `seconds`; nullopt before its first validation. Between two
// validations it is interpolated linearly, so that a training which is slower by a little lacks a little of the way to
// its next validation, not all of it.
std::optional<double> best_within(std::span<const Point> validations, double seconds, bool minimize);

}  // namespace trainlab::compare

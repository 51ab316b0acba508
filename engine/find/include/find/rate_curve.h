// Suggestions of a learning rate from range tests, in which the rate grows from step to step. Pure functions.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace trainlab {

// A learning rate with the loss of its step's batch, computed before the step changed the weights.
struct RatePoint {
  double rate = 0, loss = 0;
};

// The point with the least loss; curve.end() where no loss is finite.
std::vector<RatePoint>::const_iterator best_of(const std::vector<RatePoint>& curve);

// The rates that three rules give for a curve; NaN where a rule gives none.
struct RateSuggestions {
  // A quarter of the rate at which the loss was least.
  double quarter_of_least = std::nan("");
  // fastai's "valley": the middle of the longest series of points, with others between them, whose smoothed losses
  // fall. (Howard & Gugger: fastai, callback/schedule.py.)
  double valley = std::nan("");
  // The rate at which the smoothed loss falls fastest on a logarithmic scale of rates (Smith 2017, section 3.3).
  double steepest = std::nan("");
};

// The suggestions of a curve, which is in the order of its rates. Each loss is replaced by the median of nine around
// it, because the loss of a single small batch says little. The curve ends before the first loss that is not finite or
// whose median is more than 4 times the least median before.
RateSuggestions suggestions_of(const std::vector<RatePoint>& curve);

// For each rule, the median, on a logarithmic scale, of the rates that the rule gives for several curves.
RateSuggestions median_of(const std::vector<RateSuggestions>& all);

}  // namespace trainlab

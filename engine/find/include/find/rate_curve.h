// Suggestions of a learning rate from range tests: the loss over a rate that grows from step to step. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

namespace trainlab {

// The loss of the batch that was seen at this rate, before the step with the rate.
struct RatePoint {
  double rate = 0, loss = 0;
};

// The point with the least loss; the end of the curve where no loss is finite.
std::vector<RatePoint>::const_iterator best_of(const std::vector<RatePoint>& curve);

// The rates that three rules read off a curve. NaN where a curve does not tell.
struct RateSuggestions {
  // A quarter of the rate at which the loss was least.
  double quarter_of_least = 0;
  // fastai's "valley": two thirds into the longest stretch in which the smoothed loss falls. (Howard & Gugger: fastai,
  // callback/schedule.py.)
  double valley = 0;
  // Where the smoothed loss falls fastest, by the logarithm of the rate (Smith 2017, section 3.3).
  double steepest = 0;
};

// `curve` in the order of its rates. The median of nine losses stands for each: the loss of a single small batch says
// little. Points from the first loss on that is not finite, or whose median is more than 4 times the least before, do
// not count.
RateSuggestions suggestions_of(const std::vector<RatePoint>& curve);

// The rate that each rule gives for several curves, the median in the logarithm of the rate.
RateSuggestions median_of(const std::vector<RateSuggestions>& all);

}  // namespace trainlab

// The median of measurements with its interval: what is said of a time that other work on the machine disturbs.
#pragma once

#include <vector>

#include "core/value.h"

namespace trainlab {

struct Interval {
  double median = 0, low = 0, high = 0;
  // (high − low) / 2 relative to the median; 0 for a median of 0.
  double half_width() const { return median == 0 ? 0 : (high - low) / 2 / median; }
  // { median, low, high }
  Value to_value() const;
};

// Fewer values have no 95 % interval: all of them lie on one side of the median with a probability above 5 %.
inline constexpr std::size_t least_for_interval = 6;

// The median, and its 95 % interval from order statistics, which assumes nothing of the distribution: [x(k), x(n+1−k)]
// with the largest k for which a binomial (n, 1/2) is below k with probability at most 0.025 (David and Nagaraja, Order
// Statistics, §7.1). Of fewer than least_for_interval values the smallest and the largest; of none zeros.
Interval median_interval(std::vector<double> values);

}  // namespace trainlab

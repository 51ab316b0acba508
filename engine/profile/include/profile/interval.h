// The median of measurements with its interval: how times are reported, since other work on the machine disturbs them.
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

// The fewest values that have a 95 % interval: fewer values all lie on one side of the true median with a probability
// above 5 %.
inline constexpr std::size_t least_for_interval = 6;

// The median, and its 95 % interval from order statistics, which assumes nothing of the distribution: [x(k), x(n+1−k)]
// with the largest k for which a binomial (n, 1/2) is below k with probability at most 0.025 (David and Nagaraja, Order
// Statistics, §7.1). For fewer than least_for_interval values, the bounds are the smallest and the largest of
// them; without any value, all three numbers are zero.
Interval median_interval(std::vector<double> values);

}  // namespace trainlab

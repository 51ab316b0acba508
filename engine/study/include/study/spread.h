// How much the repeats (seeds) of one configuration differ.
#pragma once

#include <cstddef>
#include <span>

namespace trainlab {

struct Spread {
  std::size_t count = 0;  // values that are numbers
  double mean = 0;        // NaN without values
  double deviation = 0;   // standard deviation of a repeat, n − 1 in its denominator; NaN below two values
  double interval = 0;    // half the width of the 95 % confidence interval of the mean (Student's t); NaN below two
};

// NaN values (repeats without a value) are left out.
Spread spread(std::span<const double> values);

// The usual deviation: the median of the deviations, because bad configurations often vary far more than good ones and
// would dominate a mean. NaN if no trial has two values.
double usual_deviation(std::span<const Spread> spreads);

}  // namespace trainlab

// How much the repeats (seeds) of one configuration differ.
#pragma once

#include <cstddef>
#include <cstdint>
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

// The expected largest of `count` values of a standard normal distribution: by how many standard deviations the best of
// `count` equally good configurations looks better than it is. `count`: at least 1.
double expected_maximum(std::int64_t count);

}  // namespace trainlab

// Medians, quantiles and means of samples, and the distributions that tests of means need. Each definition of a median
// and of a quantile has a name of its own, because they differ for small samples. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/value.h"

namespace trainlab {

// In each median, values that are NaN do not count, and the median of no value is NaN. They differ in an even number of
// values: the mean of the two in the middle,
double median(std::vector<double> values);
// the greater of the two,
double upper_median(std::vector<double> values);
// or their geometric mean, which is the middle on a logarithmic scale. Values above 0.
double logarithmic_median(std::vector<double> values);

// In each quantile, `sorted` is in ascending order and holds at least one value, and `share` is 0 … 1. The place of the
// quantile is share · (n − 1), counted from the least value. The definitions differ where the place lies between two
// values: linear between the two (NumPy's "linear"), or the greater value where their distance is not finite,
double linear_quantile(std::span<const double> sorted, double share);
// the nearer of the two, and the greater one in the middle between both (NumPy's "nearest", but for ties),
double nearest_quantile(std::span<const double> sorted, double share);
// or the smaller of the two (NumPy's "lower").
double lower_quantile(std::span<const double> sorted, double share);

// The mean of values, the standard deviation of one of them, and the standard error of the mean. NaN: the mean of no
// value, and the other two of fewer than two values.
struct MeanAndError {
  double mean = 0, deviation = 0, error = 0;
};
MeanAndError mean_and_error(std::span<const double> values);

// The median of measurements with its interval: times are reported so, because other work on the machine disturbs them.
struct MedianInterval {
  double median = 0, low = 0, high = 0;
  // (high − low) / 2 relative to the median; 0 for a median of 0.
  double half_width() const { return median == 0 ? 0 : (high - low) / 2 / median; }
  // The interval of factor · x for this interval of x, and a factor above 0.
  MedianInterval times(double factor) const { return {median * factor, low * factor, high * factor}; }
  // The interval of factor / x for this interval of x, which is above 0.
  MedianInterval inverse(double factor) const { return {factor / median, factor / high, factor / low}; }
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
MedianInterval median_interval(std::vector<double> values);

// The quantile 0.9 of the normal distribution, which bounds 80 % on both sides.
inline constexpr double normal_quantile_90 = 1.2815515655446004;

// The quantile of Student's distribution, for a share between 0 and 1. `freedom`: degrees of freedom, above 0.
double student_quantile(double share, double freedom);
// The probability that |t| is as large or larger: the two-sided p value of a finite or infinite t.
double student_p(double t, double freedom);
// The probability that |t| is as large as `limit`, which is above 0 or infinite, or larger where the true mean lies
// `centrality` standard errors from the one assumed: Student's noncentral distribution.
double student_power(double limit, double freedom, double centrality);
// The quantile of the chi-squared distribution, for a share between 0 and 1.
double chi_squared_quantile(double share, double freedom);

}  // namespace trainlab

// Medians and quantiles of samples. Each definition has a name of its own, because they differ for small samples.
#pragma once

#include <span>
#include <vector>

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

}  // namespace trainlab

// Whether a noisy series still falls.
#pragma once

#include <span>

namespace trainlab {

// The most, with a confidence of 95 %, by which the series falls over as many values as there are: an upper bound of
// −slope · n. The slope and its standard error are those of least squares; the error takes account of residuals that
// follow one another (of the first order, by a correlation φ that is corrected for its bias and kept in 0 … 0.8), and
// the bound has Student's quantile for n − 2 degrees of freedom. At least 4 finite values.
double most_fall(std::span<const double> values);

}  // namespace trainlab

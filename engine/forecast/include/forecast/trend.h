// Whether a noisy series still falls.
#pragma once

#include <span>

namespace trainlab {

// An upper bound, with a confidence of 95 %, of the fall of the series over its n values, which is −slope · n. The
// slope and its standard error are those of least squares. The error allows for autocorrelation of the residuals: of
// first order, with a correlation φ that is corrected for its bias and kept in 0 … 0.8. The bound has Student's
// quantile for n − 2 degrees of freedom. At least 4 finite values.
double most_fall(std::span<const double> values);

}  // namespace trainlab

#include "study/spread.h"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "core/statistics.h"

namespace trainlab {

Spread spread(std::span<const double> values) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  Spread result{.count = 0, .mean = unknown, .deviation = unknown, .interval = unknown};
  double sum = 0;
  for (const double x : values) {
    if (std::isnan(x)) continue;
    sum += x;
    ++result.count;
  }
  if (result.count == 0) return result;
  const auto n = static_cast<double>(result.count);
  result.mean = sum / n;
  if (result.count < 2) return result;
  double squares = 0;
  for (const double x : values) {
    if (!std::isnan(x)) squares += (x - result.mean) * (x - result.mean);
  }
  result.deviation = std::sqrt(squares / (n - 1));
  const boost::math::students_t distribution(n - 1);
  result.interval = boost::math::quantile(distribution, 0.975) * result.deviation / std::sqrt(n);
  return result;
}

double usual_deviation(std::span<const Spread> spreads) {
  std::vector<double> deviations;
  for (const Spread& one : spreads) {
    if (one.count >= 2) deviations.push_back(one.deviation);
  }
  return median(std::move(deviations));
}

// The integral of x n φ(x) Φ(x)ⁿ⁻¹ over all x. The trapezoidal rule with this step errs by less than 1e-8, because the
// integrand is smooth and vanishes at both ends (Trefethen and Weideman, SIAM Review 2014, section 5).
double expected_maximum(std::int64_t count) {
  constexpr double step = 0.05;
  constexpr int steps = 240;  // to each side: to twelve standard deviations
  const auto n = static_cast<double>(count);
  double sum = 0;
  for (int i = -steps; i <= steps; ++i) {
    const double x = i * step;
    const double below = std::erfc(-x / std::numbers::sqrt2) / 2;
    sum += x * std::exp(-x * x / 2) * std::pow(below, n - 1);
  }
  return sum * step * n * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

}  // namespace trainlab

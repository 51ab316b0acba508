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

// The integral of 1 − Φ(x)ⁿ − Φ(−x)ⁿ over x > 0, by the trapezoidal rule.
double expected_maximum(std::int64_t count) {
  constexpr double step = 1e-3, end = 12;
  const auto n = static_cast<double>(count);
  const auto below = [](double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; };
  const auto integrand = [&](double x) { return 1 - std::pow(below(x), n) - std::pow(below(-x), n); };
  double sum = integrand(0) / 2;
  for (double x = step; x < end; x += step) sum += integrand(x);
  return sum * step;
}

}  // namespace trainlab

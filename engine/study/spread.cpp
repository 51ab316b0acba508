#include "study/spread.h"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

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

double pooled_deviation(std::span<const Spread> spreads) {
  double squares = 0, freedom = 0;
  for (const Spread& one : spreads) {
    if (one.count < 2) continue;
    const auto degrees = static_cast<double>(one.count - 1);
    squares += degrees * one.deviation * one.deviation;
    freedom += degrees;
  }
  return freedom > 0 ? std::sqrt(squares / freedom) : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace trainlab

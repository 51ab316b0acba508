#include "study/spread.h"

#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "core/statistics.h"

namespace trainlab {

Spread spread(std::span<const double> values) {
  std::vector<double> numbers;
  for (const double x : values) {
    if (!std::isnan(x)) numbers.push_back(x);
  }
  const MeanAndError found = mean_and_error(numbers);
  Spread result{.count = numbers.size(), .mean = found.mean, .deviation = found.deviation, .interval = found.error};
  if (result.count >= 2) result.interval *= student_quantile(0.975, static_cast<double>(result.count) - 1);
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

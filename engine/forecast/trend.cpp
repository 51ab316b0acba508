#include "forecast/trend.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/statistics.h"

namespace trainlab {

double most_fall(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  double mean = 0;
  for (const double one : values) mean += one / n;
  const double middle = (n - 1) / 2;
  double both = 0, own = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = static_cast<double>(i) - middle;
    both += x * (values[i] - mean);
    own += x * x;
  }
  const double slope = both / own;
  double squares = 0, neighbours = 0, before = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double residual = values[i] - mean - slope * (static_cast<double>(i) - middle);
    squares += residual * residual;
    neighbours += residual * before;
    before = residual;
  }
  double phi = squares > 0 ? neighbours / squares : 0;
  phi = std::clamp(phi + (1 + 4 * phi) / n, 0.0, 0.8);
  const double error = std::sqrt(squares / (n - 2) / own * (1 + phi) / (1 - phi));
  return (student_quantile(0.95, n - 2) * error - slope) * n;
}

}  // namespace trainlab

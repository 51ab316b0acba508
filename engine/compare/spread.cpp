#include "compare/spread.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "compare/looks.h"
#include "core/statistics.h"

namespace trainlab::compare {

double resolution_of(std::vector<double> values) {
  std::ranges::sort(values);
  // Euclid's algorithm, with a tolerance for rounding.
  const double tolerance = 1e-6 * (values.back() - values.front());
  double common = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    double next = values[i] - values[i - 1];
    while (next > tolerance) {
      const double rest = std::fmod(common, next);
      common = std::exchange(next, next - rest > tolerance ? rest : 0);
    }
  }
  return common;
}

Spread spread_of(std::span<const double> values) {
  constexpr double tail = 0.025;
  const auto n = static_cast<double>(values.size());
  Spread spread{.seeds = static_cast<int>(values.size())};
  if (std::ranges::count(values, values.front()) == std::ssize(values)) {
    spread.mean = values.front();  // without rounding, which would look like a spread
    return spread;
  }
  const MeanAndError found = mean_and_error(values);
  spread.mean = found.mean;
  double variance = found.deviation * found.deviation;
  // The distance between two values alone is no resolution.
  if (values.size() > 2) {
    const double resolution = resolution_of({values.begin(), values.end()});
    variance += resolution * resolution / 12;
  }
  spread.deviation = std::sqrt(variance);
  // (n − 1) times the estimated variance over the true one has the chi-squared distribution with n − 1 degrees of
  // freedom.
  spread.low = spread.deviation * std::sqrt((n - 1) / chi_squared_quantile(1 - tail, n - 1));
  spread.high = spread.deviation * std::sqrt((n - 1) / chi_squared_quantile(tail, n - 1));
  return spread;
}

double half_width_of_mean(int seeds) { return Looks::fixed(seeds).critical_t(seeds) / std::sqrt(seeds); }

double difference_detected(int pairs) { return std::numbers::sqrt2 * effect_detected(pairs); }

int pairs_for(double difference, int most) { return pairs_needed(difference / std::numbers::sqrt2, most); }

}  // namespace trainlab::compare

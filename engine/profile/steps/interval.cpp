#include "profile/interval.h"

#include <algorithm>
#include <cmath>

#include "core/statistics.h"

namespace trainlab {

namespace {

// k of median_interval for n ≥ least_for_interval values. Above 1000 values the normal approximation is used, which
// differs by at most 1.
std::size_t rank_of(std::size_t n) {
  const auto count = static_cast<double>(n);
  if (n > 1000) return static_cast<std::size_t>(std::floor(count / 2 - 0.98 * std::sqrt(count)));
  double term = std::pow(0.5, count), below = 0;  // P(X = k), P(X < k)
  std::size_t k = 0;
  while (below + term <= 0.025) {
    below += term;
    term *= (count - static_cast<double>(k)) / static_cast<double>(k + 1);
    ++k;
  }
  return k;
}

}  // namespace

Value Interval::to_value() const { return Value::Map{{"median", median}, {"low", low}, {"high", high}}; }

Interval median_interval(std::vector<double> values) {
  const std::size_t n = values.size();
  if (n == 0) return {};
  std::ranges::sort(values);
  const std::size_t k = n < least_for_interval ? 1 : rank_of(n);
  return {.median = median(values), .low = values[k - 1], .high = values[n - k]};
}

}  // namespace trainlab

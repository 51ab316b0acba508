#include "core/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace trainlab {

namespace {

// The two values in the middle, lesser first: the same value twice where the number of values is odd, NaN for no value.
std::pair<double, double> middle_two(std::vector<double> values) {
  std::erase_if(values, [](double x) { return std::isnan(x); });
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  if (values.empty()) return {none, none};
  const auto upper = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), upper, values.end());
  if (values.size() % 2 == 1) return {*upper, *upper};
  return {*std::max_element(values.begin(), upper), *upper};
}

double place_of(std::span<const double> sorted, double share) { return share * static_cast<double>(sorted.size() - 1); }

}  // namespace

double median(std::vector<double> values) {
  const auto [lower, upper] = middle_two(std::move(values));
  return lower == upper ? upper : (lower + upper) / 2;
}

double upper_median(std::vector<double> values) { return middle_two(std::move(values)).second; }

double logarithmic_median(std::vector<double> values) {
  const auto [lower, upper] = middle_two(std::move(values));
  return lower == upper ? upper : std::sqrt(lower * upper);
}

double linear_quantile(std::span<const double> sorted, double share) {
  const double place = place_of(sorted, share);
  const auto below = static_cast<std::size_t>(place);
  const double further = place - static_cast<double>(below);
  if (further == 0 || below + 1 >= sorted.size()) return sorted[below];
  const double gap = sorted[below + 1] - sorted[below];
  return std::isfinite(gap) ? sorted[below] + further * gap : sorted[below + 1];
}

double nearest_quantile(std::span<const double> sorted, double share) {
  return sorted[static_cast<std::size_t>(place_of(sorted, share) + 0.5)];
}

double lower_quantile(std::span<const double> sorted, double share) {
  return sorted[static_cast<std::size_t>(place_of(sorted, share))];
}

}  // namespace trainlab

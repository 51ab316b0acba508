// Quantiles of a few numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace trainlab {

// The quantile of sorted numbers below which the share `share` of them lies, interpolated linearly between neighbours.
// `sorted` has at least one number.
inline double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// The 10th and the 90th percentile.
inline std::pair<double, double> middle_four_fifths(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  return {quantile(numbers, 0.1), quantile(numbers, 0.9)};
}

}  // namespace trainlab

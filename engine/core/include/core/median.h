// The median of a sample.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace trainlab {

// The greater of the two in the middle where their number is even. Values that are NaN do not count; NaN for none.
inline double median_of(std::vector<double> values) {
  std::erase_if(values, [](double x) { return std::isnan(x); });
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace trainlab

// Student's distribution. Private to the module.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace trainlab {

// The quantile 0.9 of the normal distribution.
inline constexpr double normal_quantile_90 = 1.2816;

// The quantile 0.9, which bounds 80 % on both sides. `freedom`: degrees of freedom, at least 1.
inline double student_quantile_90(std::size_t freedom) {
  constexpr std::array<double, 9> table = {3.0777, 1.8856, 1.6377, 1.5332, 1.4759, 1.4398, 1.4149, 1.3968, 1.3830};
  return table.at(std::min(freedom, table.size()) - 1);
}

}  // namespace trainlab

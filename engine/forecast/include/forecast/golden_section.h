// Golden-section search.
#pragma once

#include <utility>

namespace trainlab {

// The place of the least value of f between two bounds, where f first falls and then rises. Each of the sections leaves
// 0.618 of the interval; the result is the middle of the last one. f is called `sections` + 2 times.
template <class F>
double golden_section(double low, double high, int sections, F&& f) {
  constexpr double golden = 0.6180339887498949;  // (√5 − 1) / 2
  double left = high - golden * (high - low), right = low + golden * (high - low);
  double at_left = f(left), at_right = f(right);
  for (int i = 0; i < sections; ++i) {
    if (at_left < at_right) {
      high = std::exchange(right, left);
      at_right = at_left;
      left = high - golden * (high - low);
      at_left = f(left);
    } else {
      low = std::exchange(left, right);
      at_left = at_right;
      right = low + golden * (high - low);
      at_right = f(right);
    }
  }
  return (low + high) / 2;
}

}  // namespace trainlab

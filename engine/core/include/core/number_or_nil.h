// Numbers in results, where nil says that there is none, and in messages.
#pragma once

#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>

#include "core/value.h"

namespace trainlab {

inline Value number_or_nil(const std::optional<double>& number) { return number ? Value(*number) : Value(); }

// Nil for NaN and infinity, which JSON does not have.
inline Value finite_or_nil(double number) { return std::isfinite(number) ? Value(number) : Value(); }

// A figure that was computed or measured, with its first `digits` digits, and with all before the point up to a
// million, where an exponent would hide the size: "0.25", "1012". The 12 digits leave out what arithmetic leaves in the
// last places, as of 6.000000000000001.
inline std::string figure_text(double x, int digits = 12) {
  const double size = std::abs(x);
  const bool is_long = size >= std::pow(10, digits) - 0.5 && size < 999999.5;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), is_long ? "%.*f" : "%.*g", is_long ? 0 : digits, x);
  return text.data();
}

}  // namespace trainlab

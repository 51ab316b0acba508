// Numbers in results, where nil says that there is none.
#pragma once

#include <cmath>
#include <optional>

#include "core/value.h"

namespace trainlab {

inline Value number_or_nil(const std::optional<double>& number) { return number ? Value(*number) : Value(); }

// The conversion back.
inline std::optional<double> number_or_none(const Value& value) {
  return value.is_nil() ? std::nullopt : std::optional(value.number());
}

// Nil for NaN and infinity, which JSON does not have.
inline Value finite_or_nil(double number) { return std::isfinite(number) ? Value(number) : Value(); }

}  // namespace trainlab

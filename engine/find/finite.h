// Numbers in the results of finders. Private to the room.
#pragma once

#include <cmath>

#include "core/value.h"

namespace trainlab {

// The number, or nil for NaN and infinity, which JSON does not have.
inline Value number_or_nil(double number) { return std::isfinite(number) ? Value(number) : Value(); }

}  // namespace trainlab

// Numbers in the results of finders. Private to the room.
#pragma once

#include <cmath>

#include "core/value.h"

namespace trainlab {

// JSON has no NaN and no infinity.
inline Value number_or_nil(double number) { return std::isfinite(number) ? Value(number) : Value(); }

}  // namespace trainlab

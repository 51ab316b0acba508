// Whether other work took cores from a measurement. Private to the room.
#pragma once

#include <string>

#include "core/value.h"

namespace trainlab {

// A share of the time that the training thread waits for a core: below it, the wait is that of a quiet machine.
constexpr double quiet_wait = 0.05;
// Cores by which the known use of the cores may be wrong. A measurement too short for that has none.
constexpr double largest_core_error = 0.2;

// How many cores other work had, "1.4 of 2 cores", where none was left for the measurement, which waited for one as far
// as its wait is known; else empty, also where nobody knows. `cores` is cores_value(), or what an earlier version has
// stored in its place.
std::string taken_cores(const Value& cores);

}  // namespace trainlab

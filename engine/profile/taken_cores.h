// Whether other work took cores from a measurement. Private to the room.
#pragma once

#include <string>

#include "core/value.h"

namespace trainlab {

// How many cores other work had, "1.4 of 2 cores", where it had some of them and none was left for the measurement;
// else empty, also where nobody knows. `cores` is cores_value(), or what an earlier version has stored in its place.
std::string taken_cores(const Value& cores);

}  // namespace trainlab

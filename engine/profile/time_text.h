// Durations as text. Private to the room.
#pragma once

#include <string>

namespace trainlab {

// Seconds, which must not be negative, as three digits with a unit: "1.23 ms".
std::string time_text(double seconds);

}  // namespace trainlab

// Private to the room.
#pragma once

#include <string>

namespace trainlab {

// "1.23 ms": three digits with a unit, of seconds that are not negative.
std::string time_text(double seconds);

}  // namespace trainlab

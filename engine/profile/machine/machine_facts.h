// What the system tells of this machine without a measurement. Private to the room.
#pragma once

#include "profile/machine.h"

namespace trainlab {

// A Roofline without its figures.
Roofline machine_facts();

}  // namespace trainlab

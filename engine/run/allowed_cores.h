// The cores that the process may use. Private to the room.
#pragma once

#include <vector>

namespace trainlab {

// The numbers of the cores in the affinity mask of the calling thread, in ascending order.
std::vector<int> allowed_cores();

}  // namespace trainlab

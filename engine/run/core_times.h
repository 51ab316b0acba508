// The time of the cores as the kernel's files count it. Private to the room.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "run/core_use.h"

namespace trainlab {

// core_seconds() of a process whose affinity has these cores, in ascending order. `proc`: the folder /proc, or one with
// the same files.
std::optional<CoreSeconds> core_seconds_in(const std::filesystem::path& proc, int process,
                                           const std::vector<int>& cores);

}  // namespace trainlab

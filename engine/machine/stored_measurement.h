// A measurement of this machine as a file in the user's cache folder. Private to the room.
#pragma once

#include <filesystem>
#include <string>

#include "core/value.h"

namespace trainlab {

// $XDG_CACHE_HOME/trainlab, else ~/.cache/trainlab; empty where neither variable is set.
std::filesystem::path cache_folder();

// The measurement that store_measurement() has kept for this machine; nil for a file that is missing, damaged, or of
// another machine.
Value stored_measurement(const std::filesystem::path& path, const Value& machine);

// Keeps a measurement by one atomic write. Returns why it could not be kept; empty if it was.
std::string store_measurement(const std::filesystem::path& path, const Value& machine, const Value& measured);

}  // namespace trainlab

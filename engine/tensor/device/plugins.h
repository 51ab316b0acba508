// Device kinds from shared libraries (tensor/device_plugin.h). Thread-safe.
#pragma once

#include <filesystem>
#include <string_view>

namespace trainlab {

// The path at which the plugin of a kind is expected; empty for a name that no kind can have (kinds are named by
// lower-case letters, digits and "_").
std::filesystem::path device_plugin(std::string_view kind);

// Loads the plugin of a kind unless it is loaded; does nothing where the file does not exist. Raises Error{usage} that
// names the file if the file is no plugin, if the plugin is of another build, or if its add() fails. Later calls raise
// the same error, because a library is not loaded again.
void load_device_plugin(std::string_view kind);

}  // namespace trainlab

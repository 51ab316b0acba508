// Device kinds from shared libraries (tensor/device_plugin.h). Thread-safe.
#pragma once

#include <filesystem>
#include <string_view>

namespace trainlab {

// Where the plugin of a kind lies, or would lie; empty for a name that no kind can have (kinds are named by lower-case
// letters, digits and "_").
std::filesystem::path device_plugin(std::string_view kind);

// Loads the plugin of a kind unless it is loaded; nothing where there is no such file. Raises Error{usage} naming the
// file for what is no plugin, for a plugin of another build and for one whose add() fails; the same error each time,
// because a library is not loaded anew.
void load_device_plugin(std::string_view kind);

}  // namespace trainlab

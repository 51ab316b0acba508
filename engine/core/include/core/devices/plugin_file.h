// Names of devices, as far as they can be told without LibTorch.
#pragma once

#include <filesystem>
#include <string_view>

#include "core/error.h"

namespace trainlab {

// The folder that TRAINLAB_DEVICES names, else that of the engine.
std::filesystem::path device_plugin_folder(const std::filesystem::path& folder_of_engine);

// The plugin that brings the devices of a kind: trainlab-KIND.so. Empty where no kind can have this name.
constexpr std::string_view device_plugin_begin = "trainlab-", device_plugin_end = ".so";
std::filesystem::path device_plugin_file(std::string_view kind, const std::filesystem::path& folder_of_engine);

// The Error{usage} of a text that names no device; `plugin` is the file that was looked for, if any.
Error unknown_device(std::string_view text, const std::filesystem::path& plugin);

}  // namespace trainlab

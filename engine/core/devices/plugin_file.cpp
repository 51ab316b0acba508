#include "core/devices/plugin_file.h"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace trainlab {

namespace fs = std::filesystem;

fs::path device_plugin_folder(const fs::path& folder_of_engine) {
  const char* const given = std::getenv("TRAINLAB_DEVICES");
  return given != nullptr && *given != '\0' ? fs::path(given) : folder_of_engine;
}

fs::path device_plugin_file(std::string_view kind, const fs::path& folder_of_engine) {
  const auto may_stand_in_name = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  if (kind.empty() || !std::ranges::all_of(kind, may_stand_in_name)) return {};
  const std::string file = std::string(device_plugin_begin) + std::string(kind) + std::string(device_plugin_end);
  return device_plugin_folder(folder_of_engine) / file;
}

Error unknown_device(std::string_view text, const fs::path& plugin) {
  std::string hint = "the devices are auto, cpu, cuda and cuda:N with N counted from 0";
  if (!plugin.empty()) hint += "; another kind needs its plugin, " + plugin.string();
  return usage_error("expected a device, found \"" + std::string(text) + "\"").hint(hint);
}

}  // namespace trainlab

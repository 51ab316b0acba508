#include "plugins.h"

#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/devices/plugin_file.h"
#include "core/error.h"
#include "tensor/device_plugin.h"
#include "tensor/types.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

fs::path folder_of_engine() { return fs::read_symlink("/proc/self/exe").parent_path(); }

// Raises unless the folder of plugins exists, if the user has named a folder.
void check_plugin_folder() {
  std::error_code ignored;
  const fs::path folder = device_plugin_folder(folder_of_engine());
  if (fs::is_directory(folder, ignored)) return;
  throw usage_error("TRAINLAB_DEVICES: there is no folder " + folder.string())
      .hint("unset TRAINLAB_DEVICES, or let it name the folder with the device plugins");
}

Error refused(const fs::path& file, const std::string& why) {
  return usage_error("the device plugin " + file.string() + " cannot be used: " + why)
      .hint("an engine and its plugins must be of the same build; --device cpu needs no plugin");
}

void load(const fs::path& file) {
  // Symbols are bound lazily: a plugin of another build, for which some functions are missing, can then still say which
  // build it is of.
  void* const library = ::dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    std::string why = ::dlerror();
    if (const std::string path = file.string() + ": "; why.starts_with(path)) why.erase(0, path.size());
    throw refused(file, why);
  }
  const auto* const plugin = static_cast<const DevicePlugin*>(::dlsym(library, "trainlab_device_plugin"));
  if (plugin == nullptr) throw refused(file, "it does not define trainlab_device_plugin");
  if (const std::string_view found = plugin->interface; found != device_interface) {
    throw refused(
        file, "expected the interface \"" + std::string(device_interface) + "\", found \"" + std::string(found) + "\"");
  }
  plugin->add();
}

std::optional<Error> failure_of(const fs::path& file) {
  try {
    load(file);
    return {};
  } catch (const Error& error) {
    return error;
  } catch (const c10::Error& error) {
    return refused(file, torch_error(error).message());
  } catch (const std::exception& error) {
    return refused(file, error.what());
  }
}

}  // namespace

fs::path device_plugin(std::string_view kind) { return device_plugin_file(kind, folder_of_engine()); }

void load_device_plugin(std::string_view kind) {
  static std::mutex mutex;
  static std::map<fs::path, std::optional<Error>> tried;  // plugins by file, with the error of one that failed
  const fs::path file = device_plugin(kind);
  const std::lock_guard lock(mutex);
  check_plugin_folder();
  std::error_code ignored;
  if (!tried.contains(file) && (file.empty() || !fs::exists(file, ignored))) return;
  const auto [entry, is_new] = tried.try_emplace(file);
  if (is_new) entry->second = failure_of(file);
  if (entry->second) throw Error(*entry->second);
}

std::vector<Error> load_device_plugins() {
  check_plugin_folder();
  std::vector<std::string> names;
  std::error_code unreadable;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(device_plugin_folder(folder_of_engine()), unreadable)) {
    std::string name = entry.path().filename();
    if (!name.starts_with(device_plugin_begin) || !name.ends_with(device_plugin_end)) continue;
    name.erase(name.size() - device_plugin_end.size()).erase(0, device_plugin_begin.size());
    names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  std::vector<Error> failed;
  for (const std::string& name : names) {
    try {
      load_device_plugin(name);
    } catch (const Error& error) {
      failed.push_back(error);
    }
  }
  return failed;
}

}  // namespace trainlab

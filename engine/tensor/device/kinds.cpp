// The table of device kinds, and devices by their names.
#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "core/devices/plugin_file.h"
#include "cpu_device.h"
#include "meta_device.h"
#include "plugins.h"
#include "tensor/types.h"

namespace trainlab {

namespace {

std::mutex kinds_mutex;

// All kinds but the CPU. "cuda" is known even without a plugin, so that a recipe that names a GPU gets a clear error.
std::vector<DeviceKind>& kinds() {
  static std::vector<DeviceKind> all{{.name = "cuda",
                                      .type = at::kCUDA,
                                      .automatic = true,
                                      .none = "no usable GPU",
                                      .count = [] { return 0; },
                                      .make = [](at::Device place) { return std::make_unique<Device>(place); }}};
  return all;
}

template <class Wanted, class Member>
std::optional<DeviceKind> known_kind(const Wanted& wanted, Member member) {
  const std::lock_guard lock(kinds_mutex);
  const auto found = std::ranges::find(kinds(), wanted, member);
  return found == kinds().end() ? std::nullopt : std::optional(*found);
}

// The parts of a device's name such as "cuda" or "cuda:1".
struct DeviceName {
  std::string_view kind;
  int index = 0;
};

std::optional<DeviceName> read_name(std::string_view text) {
  const std::size_t colon = text.find(':');
  DeviceName name{text.substr(0, colon)};
  if (colon == std::string_view::npos) return name;
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data() + colon + 1, end, name.index);
  if (status != std::errc() || rest != end || name.index < 0) return {};
  return name;
}

std::optional<DeviceKind> automatic_kind() {
  load_device_plugins();
  const std::lock_guard lock(kinds_mutex);
  const auto found =
      std::ranges::find_if(kinds(), [](const DeviceKind& kind) { return kind.automatic && kind.count() > 0; });
  return found == kinds().end() ? std::nullopt : std::optional(*found);
}

}  // namespace

void add_device_kind(DeviceKind kind) {
  const std::lock_guard lock(kinds_mutex);
  std::erase_if(kinds(), [&](const DeviceKind& known) { return known.name == kind.name; });
  kinds().push_back(std::move(kind));
}

bool names_device(std::string_view text) {
  if (text == "auto" || text == "cpu") return true;
  const auto name = read_name(text);
  if (!name) return false;
  std::error_code ignored;
  return known_kind(name->kind, &DeviceKind::name) || std::filesystem::exists(device_plugin(name->kind), ignored);
}

at::Device parse_device(std::string_view text) {
  if (text == "cpu") return at::kCPU;
  if (text == "auto") {
    const auto kind = automatic_kind();
    return kind ? at::Device(kind->type, 0) : at::Device(at::kCPU);
  }
  const auto name = read_name(text);
  if (name) load_device_plugin(name->kind);
  const auto kind = name ? known_kind(name->kind, &DeviceKind::name) : std::nullopt;
  if (!kind) throw unknown_device(text, name ? device_plugin(name->kind) : std::filesystem::path());
  const int there = kind->count();
  if (name->index >= there) {
    const std::filesystem::path plugin = device_plugin(name->kind);
    std::error_code ignored;
    if (there == 0 && !std::filesystem::exists(plugin, ignored)) {
      throw usage_error("device " + std::string(text) + " is not there: found no plugin " + plugin.string())
          .hint(
              "the plugin of a kind of devices lies beside trainlab-engine, or in the folder of TRAINLAB_DEVICES; "
              "that for GPUs of NVIDIA is built where nvcc of CUDA 13 is; --device auto takes a GPU if there is one, "
              "else the CPU");
    }
    const std::string found =
        there == 0   ? kind->none
        : there == 1 ? "one, " + kind->name + ":0"
                     : std::to_string(there) + ", the last is " + kind->name + ":" + std::to_string(there - 1);
    throw usage_error("device " + std::string(text) + " is not there: found " + found)
        .hint("--device auto takes a GPU if there is one, else the CPU");
  }
  return {kind->type, static_cast<c10::DeviceIndex>(name->index)};
}

std::string settled_device(std::string_view text) {
  if (text != "auto") return std::string(text);
  const auto kind = automatic_kind();
  return kind ? kind->name : "cpu";
}

at::Device worker_device(std::string_view text, int worker) {
  const at::Device first = parse_device(text);
  if (first.is_cpu() || text.find(':') != std::string_view::npos) return first;
  const int there = known_kind(first.type(), &DeviceKind::type)->count();
  return {first.type(), static_cast<c10::DeviceIndex>(worker % there)};
}

const Device& device_at(at::Device place) {
  if (place.is_cpu()) return cpu_device();
  if (place.is_meta()) return meta_device();
  static std::mutex mutex;
  // The devices are never destroyed: at the end of the process, a GPU's library may end before them.
  static auto& made = *new std::map<std::pair<at::DeviceType, int>, std::unique_ptr<Device>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<Device>& device = made[{place.type(), place.index()}];
  if (!device) {
    const auto kind = known_kind(place.type(), &DeviceKind::type);
    device = kind ? kind->make(place) : std::make_unique<Device>(place);
  }
  return *device;
}

}  // namespace trainlab

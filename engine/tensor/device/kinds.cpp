// The table of device kinds, and devices by their names.
#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "cpu_device.h"
#include "tensor/types.h"

namespace trainlab {

namespace {

std::unique_ptr<Device> plain_device(at::Device place) { return std::make_unique<Device>(place); }

int usable_gpus() { return at::hasCUDA() ? static_cast<int>(at::detail::getCUDAHooks().deviceCount()) : 0; }

// All but the CPU.
std::vector<DeviceKind>& kinds() {
  static std::vector<DeviceKind> all{{.name = "cuda",
                                      .type = at::kCUDA,
                                      .automatic = true,
                                      .none = "no usable GPU",
                                      .count = usable_gpus,
                                      .make = plain_device}};
  return all;
}

// "cuda", "cuda:1": the kind and the index; nothing where the text names none.
std::optional<std::pair<const DeviceKind*, int>> kind_and_index(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto found = std::ranges::find(kinds(), text.substr(0, colon), &DeviceKind::name);
  if (found == kinds().end()) return {};
  int index = 0;
  if (colon != std::string_view::npos) {
    const char* const end = text.data() + text.size();
    const auto [rest, status] = std::from_chars(text.data() + colon + 1, end, index);
    if (status != std::errc() || rest != end || index < 0) return {};
  }
  return std::pair(&*found, index);
}

}  // namespace

void add_device_kind(DeviceKind kind) { kinds().push_back(std::move(kind)); }

bool names_device(std::string_view text) { return text == "auto" || text == "cpu" || kind_and_index(text); }

at::Device parse_device(std::string_view text) {
  if (text == "cpu") return at::kCPU;
  if (text == "auto") {
    for (const DeviceKind& kind : kinds())
      if (kind.automatic && kind.count() > 0) return {kind.type, 0};
    return at::kCPU;
  }
  const auto named = kind_and_index(text);
  if (!named) {
    throw usage_error("expected a device, found \"" + std::string(text) + "\"")
        .hint("the devices are auto, cpu, cuda and cuda:N with N counted from 0");
  }
  const auto& [kind, index] = *named;
  const int there = kind->count();
  if (index >= there) {
    const std::string found =
        there == 0   ? kind->none
        : there == 1 ? "one, " + kind->name + ":0"
                     : std::to_string(there) + ", the last is " + kind->name + ":" + std::to_string(there - 1);
    throw usage_error("device " + std::string(text) + " is not there: found " + found)
        .hint("--device auto takes a GPU where there is one, else the CPU");
  }
  return {kind->type, static_cast<c10::DeviceIndex>(index)};
}

const Device& device_at(at::Device place) {
  if (place.is_cpu()) return cpu_device();
  static std::mutex mutex;
  static std::map<std::pair<at::DeviceType, int>, std::unique_ptr<Device>> made;
  const std::lock_guard lock(mutex);
  std::unique_ptr<Device>& device = made[{place.type(), place.index()}];
  if (!device) {
    const auto kind = std::ranges::find(kinds(), place.type(), &DeviceKind::type);
    device = kind == kinds().end() ? plain_device(place) : kind->make(place);
  }
  return *device;
}

}  // namespace trainlab

// A kind of devices from a shared library, which the engine loads when such a device is asked for.
//
// The plugin of the kind NAME is the file trainlab-NAME.so in the folder of the environment variable TRAINLAB_DEVICES,
// or else beside the engine. The file defines one symbol:
//
//   extern "C" const trainlab::DevicePlugin trainlab_device_plugin;
//   const trainlab::DevicePlugin trainlab_device_plugin = {trainlab::device_interface, add};
//
// A plugin links LibTorch and none of the engine's libraries: what it uses of the namespace trainlab is the engine's.
// The engine exports the classes Device, Error, MemoryCount, MemoryCharge, Key and Stream, and the functions
// add_device_kind, keyed_generator, current_memory_use, recipe_error, usage_error and run_error
// (tools/engine/CMakeLists.txt).
#pragma once

#include <torch/headeronly/version.h>

#include "tensor/device.h"

namespace trainlab {

// Which engines a plugin fits: the engine and the plugin are compiled with the same text. The number changes with this
// header and with tensor/device.h.
inline constexpr char device_interface[] = "2, LibTorch " TORCH_VERSION;

struct DevicePlugin {
  const char* interface;
  // Calls add_device_kind() for the kind NAME, or raises before that. Called once in a process.
  void (*add)();
};

}  // namespace trainlab

// The stand-in device as a plugin, for the program itself. STAND_IN_CALLS=N: the device goes away after N calls
// (LostDevice).
#include <cstdlib>
#include <string>

#include "support/stand_in_device.h"
#include "tensor/device_plugin.h"

namespace {

void register_devices() {
  trainlab::test::register_stand_in();
  const char* const calls = std::getenv("STAND_IN_CALLS");
  if (calls) static const trainlab::test::LostDevice lost(std::stoll(calls));
}

}  // namespace

extern "C" const trainlab::DevicePlugin trainlab_device_plugin;
const trainlab::DevicePlugin trainlab_device_plugin = {trainlab::device_interface, register_devices};

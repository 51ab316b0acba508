// A plugin whose devices cannot be made ready: what a driver says at the first attempt is not what it says at the next.
#include <stdexcept>
#include <string>

#include "tensor/device_plugin.h"

namespace {

void add() {
  static int attempts = 0;
  throw std::runtime_error("attempt " + std::to_string(++attempts));
}

}  // namespace

extern "C" const trainlab::DevicePlugin trainlab_device_plugin;
const trainlab::DevicePlugin trainlab_device_plugin = {trainlab::device_interface, add};

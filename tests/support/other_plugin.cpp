// A plugin of another build than the engine.
#include "tensor/device_plugin.h"

extern "C" const trainlab::DevicePlugin trainlab_device_plugin;
const trainlab::DevicePlugin trainlab_device_plugin = {"0, LibTorch 1.0.0", nullptr};

// The stand-in device as a plugin, for the program itself.
#include "support/stand_in_device.h"
#include "tensor/device_plugin.h"

extern "C" const trainlab::DevicePlugin trainlab_device_plugin;
const trainlab::DevicePlugin trainlab_device_plugin = {trainlab::device_interface, trainlab::test::register_stand_in};

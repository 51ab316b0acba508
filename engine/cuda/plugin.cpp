// The entry point of trainlab-cuda.so, the library that the engine loads.
#include "cuda_device.h"
#include "tensor/device_plugin.h"

extern "C" const trainlab::DevicePlugin trainlab_device_plugin;
const trainlab::DevicePlugin trainlab_device_plugin = {trainlab::device_interface, trainlab::cuda::add_cuda};

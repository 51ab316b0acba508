// The CPU as a device: its tensors are drawn in place, and batches of the host are its own.
#pragma once

#include "tensor/device.h"

namespace trainlab {

const Device& cpu_device();

}  // namespace trainlab

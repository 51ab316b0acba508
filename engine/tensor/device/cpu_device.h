// The CPU as a device: random numbers are drawn in place, and batches on the host need no copy.
#pragma once

#include "tensor/device.h"

namespace trainlab {

const Device& cpu_device();

}  // namespace trainlab

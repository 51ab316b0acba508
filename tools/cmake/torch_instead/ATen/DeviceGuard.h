// Stands in the place of LibTorch's header of this name, which every header of an operator includes and no operator
// needs. LibTorch's declares device_of() besides, and for device_of() brings IListRef.h, List.h and ivalue.h, whose
// templates g++ instantiates again in each file, even below a precompiled header: 0.6 s for each file. A file that
// wants IValue includes <ATen/core/ivalue.h>; at::concat(), which takes a plain list, serves in the place of at::cat().
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>

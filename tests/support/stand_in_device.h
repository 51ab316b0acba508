// The stand-in device: a second device that exists on every machine, so that suites also run where memory is not the
// CPU's.
//
// A backend of LibTorch's kind PrivateUse1 over host memory that bare pointers cannot reach; operators are carried out
// on the CPU.
#pragma once

#include <c10/core/Device.h>

namespace trainlab::test {

// Makes the device "stand_in" known to LibTorch and to parse_device(); before the first backward pass of the process,
// later calls do nothing.
void register_stand_in();

// Where a suite's tensors live: the stand-in device where TRAINLAB_TEST_DEVICE=stand_in, else the CPU.
at::Device test_device();

}  // namespace trainlab::test

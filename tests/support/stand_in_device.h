// The stand-in device: a second device that exists on every machine, so that suites also run where memory is not the
// CPU's.
//
// A backend of LibTorch's kind PrivateUse1 over host memory that bare pointers cannot reach; operators are carried out
// by the CPU's kernels, which as on a GPU refuse tensors of another device. The memory is counted and charged as the
// CPU's. A copy from the host that need not be done when the call returns counts as done a few such
// copies later, and whoever wrote to the host's memory before or freed it is found out then.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/TensorOptions.h>

#include <cstdint>

namespace trainlab::test {

// Makes the devices "stand_in:0" and "stand_in:1" known to LibTorch and to parse_device(); before the first backward
// pass of the process, later calls do nothing.
void register_stand_in();

// How many buffers for batches the devices have given to loaders.
int stand_in_buffers();
// How many times the program has read from the devices, for which it would have waited for a GPU.
int stand_in_reads();
// How many masks of ones and zeros the devices have drawn (Device::bernoulli).
int stand_in_masks();

// Where a suite's tensors live: the device that TRAINLAB_TEST_DEVICE names, "cpu", "stand_in" or "cuda", else the CPU.
at::Device test_device();
// Makes that device known, and the stand-in too where it is not a GPU: pinned memory belongs to one kind of device in a
// process. Before the first backward pass of the process.
void prepare_devices();
// Options of a tensor that lives there.
inline at::TensorOptions on_test_device(at::ScalarType type = at::kFloat) {
  return at::TensorOptions(type).device(test_device());
}

// While this lives, the stand-in device goes away after `calls` allocations, copies and operators: all later ones raise
// c10::AcceleratorError, as with a GPU that has failed. When this ends, the device is there again, as in a new process.
class LostDevice {
 public:
  explicit LostDevice(std::int64_t calls);
  ~LostDevice();
  LostDevice(const LostDevice&) = delete;
  bool is_gone() const;  // a call has raised
};

// While this lives, each stand-in device has room for `bytes`: what passes them raises c10::OutOfMemoryError, as on a
// GPU.
class FullDevice {
 public:
  explicit FullDevice(std::int64_t bytes);
  ~FullDevice();
  FullDevice(const FullDevice&) = delete;
};

}  // namespace trainlab::test

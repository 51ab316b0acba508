// Facts of this machine that the system tells without a measurement, and tools that measurements share. Private to the
// room.
#pragma once

#include <ATen/Parallel.h>

#include "machine/machine.h"

namespace trainlab {

// A Roofline without its figures.
Roofline machine_facts();

// LibTorch's threads as they were, when the object ends.
class ThreadsKept {
 public:
  ThreadsKept() : before_(at::get_num_threads()) {}
  ~ThreadsKept() { at::set_num_threads(before_); }
  ThreadsKept(const ThreadsKept&) = delete;

 private:
  int before_;
};

}  // namespace trainlab

// Facts of this machine that the system states, so that they need no measurement; and tools that the measurements
// share. Private to the room.
#pragma once

#include <ATen/Parallel.h>

#include "machine/machine.h"

namespace trainlab {

// A Roofline with these facts, but without measured figures.
Roofline machine_facts();

// ThreadsKept: when the object ends, the number of LibTorch's threads is again what it was when the object was made.
class ThreadsKept {
 public:
  ThreadsKept() : before_(at::get_num_threads()) {}
  ~ThreadsKept() { at::set_num_threads(before_); }
  ThreadsKept(const ThreadsKept&) = delete;

 private:
  int before_;
};

}  // namespace trainlab

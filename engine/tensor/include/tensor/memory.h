// Counts the memory of tensors on the CPU, and limits the tensors of scripts.
//
// Counting replaces LibTorch's CPU allocator by an allocator that asks LibTorch's for memory and counts the bytes of
// storages. The memory of the program (RSS) is larger: it includes code, caches and memory kept by the C library.
#pragma once

#include <cstdint>

#include "core/error.h"

namespace trainlab {

struct TensorMemory {
  std::int64_t live = 0;    // bytes of all storages on the CPU
  std::int64_t peak = 0;    // the most at a time, since the start or reset_tensor_peak()
  std::int64_t script = 0;  // the part of `live` that was allocated within ScriptAllocations
};

// Begins to count; once for the process, before tensors are made. Later calls do nothing. Thread-safe, as all here.
void count_tensor_memory();
TensorMemory tensor_memory();
void reset_tensor_peak();

// Bytes that the process may use: physical memory, or less if a control group or a resource limit says so.
std::int64_t usable_memory();

// The most bytes that may be allocated within ScriptAllocations (default: half of usable_memory()).
std::int64_t script_memory_limit();
void set_script_memory_limit(std::int64_t bytes);

// Raised by an operator on a thread with ScriptAllocations that would pass the limit. Nothing was allocated.
class ScriptMemoryLimit : public Error {
 public:
  explicit ScriptMemoryLimit(std::int64_t wanted);
};

// While this guard exists, this thread's allocations are charged to the script until they are freed.
class ScriptAllocations {
 public:
  ScriptAllocations();
  ~ScriptAllocations();
  ScriptAllocations(const ScriptAllocations&) = delete;

 private:
  const bool outer_;
};

}  // namespace trainlab

// Memory of tensors on the CPU, counted, and a limit for what scripts make.
//
// Counting replaces LibTorch's CPU allocator by one that asks it for memory and counts what it gives: bytes of
// storages, not of the program (RSS, which also has code, caches and what the C library keeps).
#pragma once

#include <cstdint>

#include "core/error.h"

namespace trainlab {

struct TensorMemory {
  std::int64_t live = 0;    // bytes of all storages on the CPU
  std::int64_t peak = 0;    // the most at a time, since the start or reset_tensor_peak()
  std::int64_t script = 0;  // of `live`, what was made within ScriptAllocations
};

// Begins to count; once for the process, before tensors are made. Later calls do nothing. Thread-safe, as all here.
void count_tensor_memory();
TensorMemory tensor_memory();
void reset_tensor_peak();

// Bytes that the process may use: physical memory, or less where a control group or a resource limit says so.
std::int64_t usable_memory();

// The most that may be made within ScriptAllocations; half of usable_memory() unless set.
std::int64_t script_memory_limit();
void set_script_memory_limit(std::int64_t bytes);

// Raised by an operator on a thread with ScriptAllocations that would pass the limit. Nothing was allocated.
class ScriptMemoryLimit : public Error {
 public:
  explicit ScriptMemoryLimit(std::int64_t wanted);
};

// As long as it lives, what this thread allocates is the script's, for as long as the memory lives.
class ScriptAllocations {
 public:
  ScriptAllocations();
  ~ScriptAllocations();
  ScriptAllocations(const ScriptAllocations&) = delete;

 private:
  const bool outer_;
};

}  // namespace trainlab

// Counts the memory of tensors on the CPU by what the tensors are for, and limits the tensors of scripts.
//
// Counting replaces LibTorch's CPU allocator by an allocator that asks LibTorch's for memory and counts the bytes of
// storages. The memory of the program (RSS) is larger: it includes code, caches and memory kept by the C library.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/error.h"

namespace trainlab {

// What a tensor is for.
enum class MemoryUse : std::uint64_t { other, script, weights, optimizer, averages, batches };
constexpr std::size_t memory_uses = 6;

// Bytes of the storages on a device; 0 where the device does not count them.
struct TensorMemory {
  std::int64_t live = 0;
  std::int64_t peak = 0;                               // the most at a time, since the start or reset_tensor_peak()
  std::array<std::int64_t, memory_uses> charged = {};  // of `live`, by use

  std::int64_t of(MemoryUse use) const { return charged[static_cast<std::size_t>(use)]; }
};

// Begins to count; once for the process, before tensors are made. Later calls do nothing. Thread-safe, as all here.
void count_tensor_memory();
TensorMemory tensor_memory();
void reset_tensor_peak();

// Bytes that the process may use: physical memory, or less if a control group or a resource limit says so.
std::int64_t usable_memory();

// The most bytes that may be charged to scripts at a time (default: half of usable_memory()).
std::int64_t script_memory_limit();
void set_script_memory_limit(std::int64_t bytes);

// Raised by an operator on a thread whose allocations are charged to scripts, where the operator would pass the limit.
// Nothing was allocated.
class ScriptMemoryLimit : public Error {
 public:
  explicit ScriptMemoryLimit(std::int64_t wanted);
};

// While this guard exists, memory that its thread allocates is charged to a use until the memory is freed. A guard
// within a script's guard changes nothing, because the limit for scripts must hold.
class MemoryCharge {
 public:
  explicit MemoryCharge(MemoryUse use);
  ~MemoryCharge();
  MemoryCharge(const MemoryCharge&) = delete;

 private:
  const MemoryUse outer_;
};

}  // namespace trainlab

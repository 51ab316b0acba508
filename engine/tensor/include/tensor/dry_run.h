// DryRun: computing without values, to learn what memory a computation takes before any of that memory is taken.
//
// Tensors on LibTorch's device "meta" have shapes and no values. While a DryRun exists, their operators do what the
// CPU's would do with memory: LibTorch's shape functions make tensors without memory, and an operator without a shape
// function runs on the CPU once, with zeros, one operator at a time, so that its results and the memory that it takes
// for itself are those of the CPU. Reading a value raises.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/memory_events.h"

namespace trainlab {

class DryRun {
 public:
  // The listener hears of the blocks that this thread's tensors on "meta" would take on the CPU, in the allocator's
  // sizes, and of no real blocks. One object at a time on a thread.
  explicit DryRun(MemoryListener& listener);
  ~DryRun();
  DryRun(const DryRun&) = delete;
};

// Bytes that tensor_memory() counts for a tensor of `bytes`: allocators hand out blocks in steps.
std::int64_t block_bytes(std::int64_t bytes);
// The same for several tensors, in all.
std::int64_t block_bytes(std::span<const std::int64_t> bytes);

}  // namespace trainlab

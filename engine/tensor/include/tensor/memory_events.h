// MemoryListener: is told of every block of memory that tensors take and give back, so that a ledger can say at each
// instant what the memory was for.
//
// Nobody listens by default; an allocation then pays one predictable branch.
#pragma once

#include <cstdint>

#include "tensor/memory.h"

namespace trainlab {

class MemoryListener {
 public:
  virtual ~MemoryListener() = default;
  // `block` tells apart blocks that exist at the same time, and must not be read through. `bytes` is what
  // tensor_memory() counts for the block. Calls come from any thread, one at a time, in the order in which
  // tensor_memory() counts the blocks. They must neither raise nor make tensors.
  virtual void allocated(const void* block, std::int64_t bytes, MemoryUse use) noexcept = 0;
  virtual void freed(const void* block, std::int64_t bytes, MemoryUse use) noexcept = 0;
};

// Lets a listener hear of the CPU's memory while the object lives. Several objects hear all alike. Call
// count_tensor_memory() before.
class MemoryListening {
 public:
  explicit MemoryListening(MemoryListener& listener);
  ~MemoryListening();
  MemoryListening(const MemoryListening&) = delete;

 private:
  MemoryListener& listener_;
};

}  // namespace trainlab

#pragma once

#include "tensor/device.h"
#include "tensor/memory_events.h"

namespace trainlab {

// The device "meta" (tensor/dry_run.h), whose tensors have no values.
const Device& meta_device();

// While the object lives, the listener of this thread's dry run counts `bytes` more.
class MetaBlock {
 public:
  explicit MetaBlock(std::int64_t bytes);
  ~MetaBlock();
  MetaBlock(const MetaBlock&) = delete;

 private:
  const std::int64_t bytes_;
  const MemoryUse use_;
  MemoryListener* const listener_;
};

// Teaches "meta" the CPU's operators that LibTorch has no shape functions for. Once for the process; thread-safe.
void register_meta_operators();

}  // namespace trainlab

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

// Registers, for "meta", the CPU's operators for which LibTorch has no shape functions. Only the first call in a
// process has an effect; thread-safe.
void register_meta_operators();

}  // namespace trainlab

// MemoryRecorder makes the ledger of any code that opens the spans of a fit (core/trace.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/trace.h"
#include "tensor/memory_events.h"
#include "train/memory_ledger.h"

namespace trainlab {

// Hears spans and blocks of memory while it is a listener of both; the spans are those of one thread. Blocks that other
// threads take without a charge are counted as batches, because they prepare these.
class MemoryRecorder : public TraceListener, public MemoryListener {
 public:
  // `before`: what the memory holds now, of blocks that the recorder has not heard of. `left`: the kind of what the
  // forward pass of an earlier step has left; in a loop of the recipe's own, tensors that Lua has not collected yet.
  explicit MemoryRecorder(const TensorMemory& before, MemoryKind left = MemoryKind::other);
  ~MemoryRecorder() override;

  void began(Phase phase, std::string_view name) override;
  void ended(Phase phase, std::string_view name) noexcept override;
  void allocated(const void* block, std::int64_t bytes, MemoryUse use) noexcept override;
  void freed(const void* block, std::int64_t bytes, MemoryUse use) noexcept override;

  // The latest training step that has ended.
  MemoryLedger ledger() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trainlab

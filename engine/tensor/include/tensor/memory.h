// Counts the memory of tensors by what the tensors are for, and limits the tensors of scripts.
//
// On the CPU, an allocator that asks LibTorch's for memory counts the bytes of storages. A device's own allocator
// counts with a MemoryCount. The memory of the program (RSS) is larger, by code, caches and what the C library keeps.
#pragma once

#include <array>
#include <atomic>
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

// What the calling thread's allocations are charged to at present (MemoryCharge).
MemoryUse current_memory_use();

// The count of one device, for its allocator.
class MemoryCount {
 public:
  // Called before an allocation. Raises ScriptMemoryLimit where the use is `script` and these bytes would exceed the
  // limit.
  void check(MemoryUse use, std::int64_t bytes) const;
  // In the header, because every allocation of a tensor calls them.
  void add(MemoryUse use, std::int64_t bytes) {
    if (use != MemoryUse::other) charged_[static_cast<std::size_t>(use)].fetch_add(bytes, std::memory_order_relaxed);
    const std::int64_t now = live_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    std::int64_t before = peak_.load(std::memory_order_relaxed);
    while (now > before && !peak_.compare_exchange_weak(before, now, std::memory_order_relaxed)) {
    }
  }
  void remove(MemoryUse use, std::int64_t bytes) {
    if (use != MemoryUse::other) charged_[static_cast<std::size_t>(use)].fetch_sub(bytes, std::memory_order_relaxed);
    live_.fetch_sub(bytes, std::memory_order_relaxed);
  }
  TensorMemory now() const;
  std::int64_t live() const { return live_.load(std::memory_order_relaxed); }
  void reset_peak() { peak_ = live_.load(); }

 private:
  std::atomic<std::int64_t> live_{0}, peak_{0};
  // Nothing is counted under MemoryUse::other, the use of nearly all allocations, which is what the others leave.
  std::array<std::atomic<std::int64_t>, memory_uses> charged_{};
};

// Begins to count the CPU's, once for the process, before tensors. Later calls do nothing. Thread-safe, as all here.
void count_tensor_memory();
TensorMemory tensor_memory();
std::int64_t live_tensor_bytes();  // tensor_memory().live
void reset_tensor_peak();

// The most bytes that may be charged to scripts at a time (default: half of usable_memory()).
std::int64_t script_memory_limit();
void set_script_memory_limit(std::int64_t bytes);

// Raised by an operator on a thread whose allocations are charged to scripts, where the operator would pass the limit.
// Nothing was allocated.
class ScriptMemoryLimit : public Error {
 public:
  // Bytes that the operator wants, and bytes that are charged to scripts already.
  ScriptMemoryLimit(std::int64_t wanted, std::int64_t charged);
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

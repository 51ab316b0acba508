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

// The purpose of a tensor.
enum class MemoryUse : std::uint64_t { other, script, weights, optimizer, averages, batches };
constexpr std::size_t memory_uses = 6;

// Bytes of the storages on a device; 0 where the device does not count them.
struct TensorMemory {
  std::int64_t live = 0;
  std::int64_t peak = 0;                               // the most at a time, since the start or reset_tensor_peak()
  std::array<std::int64_t, memory_uses> charged = {};  // of `live`, by use

  std::int64_t of(MemoryUse use) const { return charged[static_cast<std::size_t>(use)]; }
};

// The use to which the calling thread's allocations are charged at present (MemoryCharge).
MemoryUse current_memory_use();

// The count of one device, for its allocator.
class MemoryCount {
 public:
  // Called before an allocation. Raises TensorMemoryLimit where these bytes would exceed the limit for all tensors of
  // the device, and ScriptMemoryLimit where the use is `script` and they would exceed the limit for scripts.
  void check(MemoryUse use, std::int64_t bytes) const;
  // The first of these two checks alone.
  void check_all(std::int64_t bytes) const;
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
  // MemoryUse::other, the use of nearly all allocations, is not counted: it is what the other uses leave of live_.
  std::array<std::atomic<std::int64_t>, memory_uses> charged_{};
};

// Begins to count the CPU's tensors; to be called before the first tensor. Later calls do nothing. Thread-safe, as all
// functions here.
void count_tensor_memory();
TensorMemory tensor_memory();
std::int64_t live_tensor_bytes();  // tensor_memory().live
void reset_tensor_peak();

// The most bytes that the tensors of a device may take at a time where this thread allocates: the least of the limit of
// the process and of the MemoryBudget guards around; 0: no limit, the default.
std::int64_t tensor_memory_limit();
// The limit of the process.
void set_tensor_memory_limit(std::int64_t bytes);

// While this guard exists, the tensors of a device may take at most `bytes` where the guard's thread allocates; 0
// changes nothing. Any limit keeps room for `for_batches` bytes of batches, less those that batches take already.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::int64_t bytes, std::int64_t for_batches = 0);
  ~MemoryBudget();
  MemoryBudget(const MemoryBudget&) = delete;

 private:
  const std::int64_t outer_, outer_for_batches_;
};

// While this guard exists, no MemoryBudget around it holds where its thread allocates.
class NoMemoryBudget {
 public:
  NoMemoryBudget();
  ~NoMemoryBudget();
  NoMemoryBudget(const NoMemoryBudget&) = delete;

 private:
  const std::int64_t outer_, outer_for_batches_;
};

// Raised where an operator would pass tensor_memory_limit(). Nothing was allocated, and the same operator may succeed
// later, when tensors have been given back. Whoever adds a place or a hint changes the object and raises it again with
// `throw;`, because a copy would be an Error like any other.
class TensorMemoryLimit : public Error {
 public:
  // Bytes that the operator wants, bytes that tensors of the device take already, and bytes kept for batches.
  TensorMemoryLimit(std::int64_t wanted, std::int64_t live, std::int64_t kept);
  // The bytes that all of these would have taken.
  std::int64_t needed() const { return needed_; }

 private:
  std::int64_t needed_;
};

// Whether an operator found no room: that of tensor_memory_limit(), or that of its device. The same operator may
// succeed on smaller tensors.
bool lacks_room(const Error& error);

// The most bytes that may be charged to scripts at a time (default: half of usable_memory(), or of the process's limit
// for all tensors where that is less).
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

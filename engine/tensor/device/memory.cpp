#include "tensor/memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/alignment.h>
#include <c10/core/impl/alloc_cpu.h>
#include <c10/util/Exception.h>
#include <malloc.h>
#ifdef TRAINLAB_MIMALLOC
#include <mimalloc.h>
#endif
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/host.h"
#include "core/value.h"
#include "file_blocks.h"
#include "tensor/dry_run.h"
#include "tensor/free_memory.h"
#include "tensor/memory_events.h"
#include "tensor/script_memory.h"

namespace trainlab {

namespace {

MemoryCount cpu;
std::atomic<std::int64_t> script_limit{0}, process_limit{0};
thread_local MemoryUse current_use = MemoryUse::other;
thread_local constinit std::int64_t budget = 0, kept_for_batches = 0;  // set by the guards MemoryBudget; 0: none

constexpr std::int64_t listened = std::int64_t{1} << 20;
std::atomic<void (*)()> large_listener{nullptr};

std::mutex listening_mutex;
std::vector<MemoryListener*> listeners;  // guarded by listening_mutex
std::atomic<bool> is_listened{false};    // whether there are listeners

// Counting and telling listeners happen under one lock, so that a listener's sums equal the counts at each event.
[[gnu::noinline]] void add_and_tell(const void* block, MemoryUse use, std::int64_t size) {
  const std::lock_guard lock(listening_mutex);
  cpu.add(use, size);
  for (MemoryListener* const one : listeners) one->allocated(block, size, use);
}
[[gnu::noinline]] void remove_and_tell(const void* block, MemoryUse use, std::int64_t size) {
  const std::lock_guard lock(listening_mutex);
  cpu.remove(use, size);
  for (MemoryListener* const one : listeners) one->freed(block, size, use);
}

// Bytes that the process may use for tensors.
std::int64_t usable_tensor_memory() {
  const std::int64_t limit = process_limit.load(std::memory_order_relaxed);
  return limit > 0 ? std::min(limit, usable_memory()) : usable_memory();
}

// The size of a block is the one that the C library states, which is the same when the block is freed.
std::int64_t block_size(void* block) { return static_cast<std::int64_t>(malloc_usable_size(block)); }

// The use of a block cannot be a part of the deleter: oneDNN frees through raw_deleter(), so that one function must
// free all blocks. The use of a small block is stored in the block's last bytes, behind the bytes that were asked for.
// A block of this size or more has its use in a table instead: sizes are often powers of two, and with a few bytes more
// the C library would give a block that is up to twice as large.
constexpr std::int64_t in_table = std::int64_t{64} << 10;

class UseTable {
 public:
  void put(const void* block, MemoryUse use) {
    if (use == MemoryUse::other) return;  // which is what nearly all blocks are for
    const std::lock_guard lock(mutex_);
    uses_.emplace(block, use);
  }
  MemoryUse take(const void* block) {
    const std::lock_guard lock(mutex_);
    const auto found = uses_.find(block);
    if (found == uses_.end()) return MemoryUse::other;
    const MemoryUse use = found->second;
    uses_.erase(found);
    return use;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<const void*, MemoryUse> uses_;  // but for MemoryUse::other
};

UseTable& use_table() {
  static auto* const table = new UseTable;  // stays, because some tensors are freed while the process ends
  return *table;
}

char* use_of(void* block, std::int64_t size) {
  return static_cast<char*>(block) + size - static_cast<std::int64_t>(sizeof(MemoryUse));
}
void store_use(void* block, std::int64_t size, MemoryUse use) {
  if (size >= in_table) return use_table().put(block, use);
  std::memcpy(use_of(block, size), &use, sizeof use);
}
MemoryUse take_use(void* block, std::int64_t size) {
  if (size >= in_table) return use_table().take(block);
  MemoryUse use{};
  std::memcpy(&use, use_of(block, size), sizeof use);
  return use;
}

void free_block(void* block) {
  if (!block) return;
  const std::int64_t size = block_size(block);
  const MemoryUse use = take_use(block, size);
  if (is_listened.load(std::memory_order_relaxed)) [[unlikely]] {
    remove_and_tell(block, use, size);
  } else {
    cpu.remove(use, size);
  }
  c10::free_cpu(block);
}

// A block of LibTorch's own functions, without the counting that its allocator adds for its profiler.
using OwnedBlock = std::unique_ptr<void, decltype(&c10::free_cpu)>;
OwnedBlock allocate_large(std::size_t bytes) {
#ifdef TRAINLAB_MIMALLOC
  // mimalloc takes more where an alignment is asked for, although its large blocks begin at the beginning of a page.
  OwnedBlock block(mi_malloc(bytes), c10::free_cpu);
  if (block && reinterpret_cast<std::uintptr_t>(block.get()) % c10::gAlignment == 0) return block;
#endif
  return {c10::alloc_cpu(bytes), c10::free_cpu};
}
OwnedBlock allocate_with_use(std::size_t bytes) {
  if (bytes >= static_cast<std::size_t>(in_table)) return allocate_large(bytes);
  try {
    return {c10::alloc_cpu(bytes + sizeof(MemoryUse)), c10::free_cpu};
  } catch (const c10::Error&) {
    c10::free_cpu(c10::alloc_cpu(bytes));  // raises with the number of bytes asked for
    throw;
  }
}

// The limit with the option that has set it: "the limit of 100.0 MiB (--memory)".
std::string limit_text(double limit) {
  const bool is_of_process = limit == static_cast<double>(process_limit.load(std::memory_order_relaxed));
  return "the limit of " + memory_text(limit) + (is_of_process ? " (--memory)" : " (memory.budget)");
}

// Raises if a large tensor does not fit. Collecting a script's garbage may free enough memory, so a script's tensor
// raises the error after which garbage is collected.
void check_large(MemoryUse use, double bytes) {
  if (use != MemoryUse::script) return check_free_memory(bytes, memory_text(bytes) + " for one tensor");
  if (bytes > static_cast<double>(free_tensor_memory()))
    throw ScriptMemoryLimit(static_cast<std::int64_t>(bytes), cpu.now().of(MemoryUse::script));
}

class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, nullptr, free_block, c10::Device(c10::kCPU)};
    if (lies_in_file(bytes)) [[unlikely]]
      return allocate_in_file(bytes);
    const MemoryUse use = current_use;
    cpu.check(use, static_cast<std::int64_t>(bytes));
    if (bytes >= static_cast<std::size_t>(large_memory)) check_large(use, static_cast<double>(bytes));
    OwnedBlock owned = allocate_with_use(bytes);
    void* const block = owned.get();
    const std::int64_t size = block_size(block);
    // Blocks are larger than the bytes asked for, so the limit is checked again with the true size. A refused block is
    // freed at once, and takes no memory because it was never touched.
    cpu.check_all(size);
    store_use(block, size, use);
    if (is_listened.load(std::memory_order_relaxed)) [[unlikely]] {
      add_and_tell(block, use, size);
    } else {
      cpu.add(use, size);
    }
    return {block, owned.release(), free_block, c10::Device(c10::kCPU)};
  }

  c10::DeleterFnPtr raw_deleter() const override { return free_block; }

  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }
};

}  // namespace

MemoryUse current_memory_use() { return current_use; }

void MemoryCount::check_all(std::int64_t bytes) const {
  const std::int64_t limit = tensor_memory_limit();
  // Batches are not refused, because the threads that prepare them cannot wait until a step has freed memory. The
  // number of a loader's buffers limits them instead.
  if (limit == 0 || current_use == MemoryUse::batches) return;
  const std::int64_t batches = charged_[static_cast<std::size_t>(MemoryUse::batches)].load(std::memory_order_relaxed);
  const std::int64_t held = live(), kept = std::max<std::int64_t>(kept_for_batches - batches, 0);
  if (held + kept + bytes > limit) throw TensorMemoryLimit(bytes, held, kept);
}

void MemoryCount::check(MemoryUse use, std::int64_t bytes) const {
  check_all(bytes);
  if (use != MemoryUse::script) return;
  const std::int64_t charged = charged_[static_cast<std::size_t>(use)].load(std::memory_order_relaxed);
  if (charged + bytes > script_memory_limit()) throw ScriptMemoryLimit(bytes, charged);
  if (bytes < listened) return;
  if (auto* const listener = large_listener.load(std::memory_order_relaxed)) listener();
}

TensorMemory MemoryCount::now() const {
  TensorMemory now{.live = live(), .peak = peak_.load(std::memory_order_relaxed)};
  std::int64_t rest = now.live;
  for (std::size_t i = 0; i < memory_uses; ++i) {
    now.charged[i] = charged_[i].load(std::memory_order_relaxed);
    rest -= now.charged[i];
  }
  // The rest is negative if other threads have allocated in between.
  now.charged[static_cast<std::size_t>(MemoryUse::other)] = std::max<std::int64_t>(rest, 0);
  return now;
}

void count_tensor_memory() {
  static CountingAllocator allocator;
  static std::once_flag once;
  std::call_once(once, [] { c10::SetCPUAllocator(&allocator, /*priority=*/1); });
}

TensorMemory tensor_memory() { return cpu.now(); }

MemoryListening::MemoryListening(MemoryListener& listener) : listener_(listener) {
  const std::lock_guard lock(listening_mutex);
  listeners.push_back(&listener_);
  is_listened = true;
}

MemoryListening::~MemoryListening() {
  const std::lock_guard lock(listening_mutex);
  std::erase(listeners, &listener_);
  is_listened = !listeners.empty();
}

std::int64_t block_bytes(std::int64_t bytes) {
  // Large blocks exceed the bytes asked for by less than a hundredth.
  if (bytes <= 0 || bytes >= large_memory) return bytes;
  // A block that is never touched takes no memory.
  const OwnedBlock block = allocate_with_use(static_cast<std::size_t>(bytes));
  return block_size(block.get());
}

std::int64_t block_bytes(std::span<const std::int64_t> bytes) {
  std::int64_t sum = 0;
  for (const std::int64_t one : bytes) sum += block_bytes(one);
  return sum;
}

std::int64_t live_tensor_bytes() { return cpu.live(); }

void reset_tensor_peak() { cpu.reset_peak(); }

std::int64_t script_memory_limit() {
  const std::int64_t set = script_limit.load(std::memory_order_relaxed);
  return set > 0 ? set : usable_tensor_memory() / 2;
}

std::int64_t tensor_memory_limit() {
  const std::int64_t process = process_limit.load(std::memory_order_relaxed);
  if (process == 0 || budget == 0) return std::max(process, budget);
  return std::min(process, budget);
}

void set_tensor_memory_limit(std::int64_t bytes) { process_limit = bytes; }

MemoryBudget::MemoryBudget(std::int64_t bytes, std::int64_t for_batches)
    : outer_(budget), outer_for_batches_(kept_for_batches) {
  if (bytes > 0) budget = outer_ > 0 ? std::min(outer_, bytes) : bytes;
  kept_for_batches = std::max(kept_for_batches, for_batches);
}

MemoryBudget::~MemoryBudget() {
  budget = outer_;
  kept_for_batches = outer_for_batches_;
}

NoMemoryBudget::NoMemoryBudget()
    : outer_(std::exchange(budget, 0)), outer_for_batches_(std::exchange(kept_for_batches, 0)) {}

NoMemoryBudget::~NoMemoryBudget() {
  budget = outer_;
  kept_for_batches = outer_for_batches_;
}

void set_script_memory_limit(std::int64_t bytes) { script_limit = bytes; }

void on_large_script_memory(void (*listener)()) { large_listener = listener; }

namespace {
// Less than what 0.1 MiB can say is written in KiB.
std::string amount_text(double bytes, double (*rounded)(double)) {
  constexpr std::array units = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  double amount = bytes / (1 << 20);
  std::size_t unit = 1;
  if (bytes > 0 && rounded(10 * amount) == 0) {
    amount *= 1024;
    unit = 0;
  }
  for (; amount >= 1024 && unit + 1 < units.size(); ++unit) amount /= 1024;
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", rounded(10 * amount) / 10, units[unit]);
  return text.data();
}
}  // namespace

std::string memory_text(double bytes) { return amount_text(bytes, std::nearbyint); }
std::string memory_text(std::int64_t bytes) { return memory_text(static_cast<double>(bytes)); }
std::string memory_text_up(double bytes) { return amount_text(bytes, std::ceil); }
std::string bytes_text(double bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < units.size(); ++unit) bytes /= 1024;
  return figure_text(bytes, 3) + " " + units[unit];
}

std::int64_t free_tensor_memory() {
  const std::int64_t live = live_tensor_bytes();
  const std::int64_t kept = std::max<std::int64_t>(held_memory() - live, 0);
  return std::max<std::int64_t>(std::min(free_memory() + kept, usable_tensor_memory() - live), 0);
}

void check_free_memory(double bytes, const std::string& asked) {
  const auto limit = static_cast<double>(process_limit.load(std::memory_order_relaxed));
  if (const auto live = static_cast<double>(live_tensor_bytes()); limit > 0 && bytes > limit - live) {
    throw recipe_error("out of memory: expected at most the " + memory_text(std::max(limit - live, 0.0)) +
                       " that are left of " + limit_text(limit) + ", found " + asked)
        .hint("a larger --memory; a smaller batch or a smaller model needs less memory")
        .lacking_memory();
  }
  if (bytes < static_cast<double>(large_memory)) return;
  const auto free = static_cast<double>(free_tensor_memory());
  if (bytes <= free) return;
  throw run_error("out of memory: expected at most the " + memory_text(free) + " that are free, found " + asked)
      .hint("a smaller batch or a smaller model needs less memory")
      .lacking_memory();
}

TensorMemoryLimit::TensorMemoryLimit(std::int64_t wanted, std::int64_t live, std::int64_t kept)
    : Error(recipe_error("out of memory: " + memory_text(wanted) + " more would pass " +
                         limit_text(static_cast<double>(tensor_memory_limit())) + ", of which tensors hold " +
                         memory_text(live) + (kept > 0 ? " and batches still to come " + memory_text(kept) : ""))),
      needed_(wanted + live + kept) {
  hint("a smaller batch or a smaller model needs less memory").lacking_memory();
}

bool lacks_room(const Error& error) {
  const bool is_limit = dynamic_cast<const TensorMemoryLimit*>(&error) != nullptr;
  return is_limit || (error.kind() == ErrorKind::run && error.lacks_memory());
}

ScriptMemoryLimit::ScriptMemoryLimit(std::int64_t wanted, std::int64_t charged)
    : Error(recipe_error("out of memory for the recipe's tensors: " + memory_text(wanted) +
                         " more would pass the limit of " + memory_text(script_memory_limit()) + ", or the " +
                         memory_text(free_tensor_memory()) + " that are free")) {
  hint("the limit is half of the memory that the process may use for tensors, and " + memory_text(charged) +
       " of it are taken; t:release() and lab.scope free tensors early")
      .lacking_memory();
}

MemoryCharge::MemoryCharge(MemoryUse use) : outer_(current_use) {
  if (outer_ != MemoryUse::script) current_use = use;
}
MemoryCharge::~MemoryCharge() { current_use = outer_; }

}  // namespace trainlab

#ifdef TRAINLAB_MIMALLOC
// These operators replace mimalloc's own, which are compiled as C, cannot raise, and end the process when memory is
// exhausted. LibTorch's allocations use these operators as well; mimalloc's delete frees the memory.
namespace {
void* or_raise(void* block) {
  if (!block) throw std::bad_alloc();
  return block;
}
}  // namespace

// NOLINTBEGIN(misc-new-delete-overloads): mimalloc defines the operators delete
void* operator new(std::size_t size) { return or_raise(mi_malloc(size)); }
void* operator new[](std::size_t size) { return or_raise(mi_malloc(size)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return or_raise(mi_malloc_aligned(size, static_cast<std::size_t>(alignment)));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return or_raise(mi_malloc_aligned(size, static_cast<std::size_t>(alignment)));
}
// NOLINTEND(misc-new-delete-overloads)
#endif

#include "guarded_memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "tensor/memory.h"

namespace trainlab::test {

namespace {

constexpr std::size_t page = 4096;

struct Mapping {
  void* begin;
  std::size_t size;
};

std::mutex mutex;
std::unordered_map<void*, Mapping>& mappings() {
  static auto* all = new std::unordered_map<void*, Mapping>;  // tensors may outlive static objects
  return *all;
}
bool at_end = true;
int fill = 0;

void free_block(void* block) {
  if (!block) return;
  const std::lock_guard lock(mutex);
  const auto found = mappings().find(block);
  munmap(found->second.begin, found->second.size);
  mappings().erase(found);
}

class GuardedAllocator final : public c10::Allocator {
 public:
  explicit GuardedAllocator(std::size_t limit) : limit_(limit) {}

  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, nullptr, free_block, c10::kCPU};
    if (bytes > limit_) throw ScriptMemoryLimit(static_cast<std::int64_t>(bytes), 0);
    const std::size_t inner = (bytes + page - 1) / page * page, all = inner + 2 * page;
    auto* begin = static_cast<char*>(mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (begin == MAP_FAILED || mprotect(begin + page, inner, PROT_READ | PROT_WRITE) != 0)
      throw ScriptMemoryLimit(static_cast<std::int64_t>(bytes), 0);
    // As far as the elements' alignment allows, which divides the size.
    const std::size_t alignment = std::min<std::size_t>(64, std::size_t{1} << std::countr_zero(bytes));
    char* block = begin + page;
    if (at_end) block += (inner - bytes) / alignment * alignment;
    if (fill != 0) std::memset(block, fill, bytes);
    const std::lock_guard lock(mutex);
    mappings()[block] = {begin, all};
    return {block, block, free_block, c10::kCPU};
  }
  c10::DeleterFnPtr raw_deleter() const override { return free_block; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }

 private:
  std::size_t limit_;
};

}  // namespace

void guard_memory(std::size_t limit) {
  static auto* allocator = new GuardedAllocator(limit);
  c10::SetCPUAllocator(allocator, /*priority=*/100);
}

void guard_ends() { at_end = true; }
void guard_beginnings() { at_end = false; }
void fill_memory(int byte) { fill = byte; }

}  // namespace trainlab::test

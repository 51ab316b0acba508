#include "kept_pages.h"

#include <sys/resource.h>

#include <fstream>

#ifdef TRAINLAB_MIMALLOC
#include <mimalloc.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "core/host.h"
#endif

namespace trainlab {

#ifdef TRAINLAB_MIMALLOC
namespace {

constexpr std::size_t segment = std::size_t{32} << 20;  // mimalloc's unit, at a multiple of which a range begins
constexpr std::int64_t kept_part = 8;                   // an eighth of the memory

// Gives mimalloc a range of addresses from which it takes memory first. As it is told that the pages are large ones of
// the system, which cannot be given back singly, it never gives any of them back.
bool give_range() {
  if (!may_reserve_addresses()) return false;
  const std::size_t size = static_cast<std::size_t>(usable_memory() / kept_part) / segment * segment;
  void* const range =
      ::mmap(nullptr, size + segment, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return false;
  const std::size_t after = reinterpret_cast<std::uintptr_t>(range) % segment;
  std::byte* const begin = static_cast<std::byte*>(range) + (after == 0 ? 0 : segment - after);
  ::madvise(begin, size, MADV_HUGEPAGE);  // refused by systems without large pages, whose small ones are kept as well
  constexpr int any_node = -1;
  return mi_manage_os_memory(begin, size, /*is_committed=*/true, /*is_large=*/true, /*is_zero=*/true, any_node);
}

}  // namespace

bool keep_freed_pages() {
  static const bool keeps = [] {
    mi_option_enable(mi_option_large_os_pages);
    return give_range();
  }();
  return keeps;
}
#else
bool keep_freed_pages() { return false; }
#endif

bool may_reserve_addresses() {
  const auto is_limited = [](auto kind) {
    rlimit space{};
    return ::getrlimit(kind, &space) != 0 || space.rlim_cur != RLIM_INFINITY;
  };
  if (is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA)) return false;
  constexpr int counts_all = 2;  // the system counts each range as if all of it were used
  int mode = counts_all;
  std::ifstream("/proc/sys/vm/overcommit_memory") >> mode;
  return mode != counts_all;
}

}  // namespace trainlab

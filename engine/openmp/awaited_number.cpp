#include "awaited_number.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <climits>

namespace trainlab {

namespace {

void pause_a_moment() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// How long a thread spins before it sleeps. Sleeping and being woken takes some 50 µs, and most waits inside of a step
// are shorter. The time is limited because, where other programs hold the cores, the spinning thread may hold the very
// core for which the other thread is waiting.
constexpr std::chrono::microseconds patience(200);

// Spins until the value is another one than `seen`, or patience ends. Returns whether the value changed.
bool looked_out(const std::atomic<std::uint32_t>& value, std::uint32_t seen) {
  constexpr int looks = 32;  // reads of the value between two looks at the clock
  const auto changed = [&] {
    for (int i = 0; i < looks; ++i) {
      if (value.load(std::memory_order_acquire) != seen) return true;
      pause_a_moment();
    }
    return false;
  };
  if (changed()) return true;
  const auto until = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < until) {
    if (changed()) return true;
  }
  return false;
}

}  // namespace

// No change is missed: either the thread that changes the number sees the sleeper, or the sleeper sees the change. Both
// first write their own variable and then read the other's, in one order for all threads (sequential consistency).
// futex(2) compares the number once more before the thread sleeps.
void AwaitedNumber::wait_while(std::uint32_t seen) {
  if (looked_out(value_, seen)) return;
  sleepers_.fetch_add(1);
  while (value_.load() == seen) ::syscall(SYS_futex, &value_, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
  sleepers_.fetch_sub(1);
}

void AwaitedNumber::wake_all() {
  if (sleepers_.load() > 0) ::syscall(SYS_futex, &value_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void AwaitedNumber::set(std::uint32_t value) {
  value_.store(value);
  wake_all();
}

void AwaitedNumber::count_down() {
  if (value_.fetch_sub(1) == 1) wake_all();
}

}  // namespace trainlab

#include "awaited_number.h"

#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <utility>

namespace trainlab {

namespace {

void pause_a_moment() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

using Clock = std::chrono::steady_clock;

// How long a thread spins before it sleeps. Sleeping and being woken takes some 50 µs, and waits inside of a step are
// mostly shorter than the long time. Where other programs hold the cores, the spinning thread may hold the very core
// for which the other thread is waiting: there the short time holds.
constexpr std::chrono::microseconds longest(2000), shortest(200);
// Signs of other programs: a wait that was longer than the long time, as serial parts of a program make too, and a
// pause between two looks at the clock in which the system has given the thread's core to another one. (In a virtual
// machine there are pauses in which the machine itself has no core: sleeping would only make them longer.) After a sign
// the short time holds for a while.
constexpr std::chrono::microseconds pause_of_a_thread(100);
constexpr std::chrono::milliseconds a_while(50);
std::atomic<Clock::rep> hurried_until{0};

// How many times the system has taken the core from this thread.
long lost_cores() {
  rusage use{};
  ::getrusage(RUSAGE_THREAD, &use);
  return use.ru_nivcsw;
}

void hurry(Clock::time_point now) {
  hurried_until.store((now + a_while).time_since_epoch().count(), std::memory_order_relaxed);
}

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
  const long lost_before = lost_cores();
  const Clock::time_point began = Clock::now();
  const bool is_hurried = began.time_since_epoch().count() < hurried_until.load(std::memory_order_relaxed);
  auto patience = is_hurried ? shortest : longest;
  Clock::time_point now = began;
  while (now - began < patience) {
    if (changed()) return true;
    const Clock::time_point before = std::exchange(now, Clock::now());
    if (now - before < pause_of_a_thread || lost_cores() == lost_before) continue;
    hurry(now);
    patience = shortest;
  }
  if (!is_hurried) hurry(now);
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

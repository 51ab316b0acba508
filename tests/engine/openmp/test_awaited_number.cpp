#include "awaited_number.h"

#include <time.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

namespace trainlab::awaited_number_test {

namespace {

// Processor time of the calling thread, in seconds.
double thread_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

TEST_CASE("two threads take turns without losing a change") {
  constexpr std::uint32_t turns = 20000;
  AwaitedNumber here, there;
  std::thread other([&] {
    for (std::uint32_t turn = 0; turn < turns; ++turn) {
      here.wait_while(turn);
      there.set(turn + 1);
    }
  });
  for (std::uint32_t turn = 0; turn < turns; ++turn) {
    here.set(turn + 1);
    there.wait_while(turn);
  }
  other.join();
  CHECK(there.value() == turns);
}

TEST_CASE("what was written before a change is seen after it") {
  AwaitedNumber changed;
  int written = 0;
  std::thread other([&] {
    written = 7;
    changed.set(1);
  });
  changed.wait_while(0);
  CHECK(written == 7);
  other.join();
}

TEST_CASE("a count wakes those that wait once nothing is left") {
  constexpr std::uint32_t threads = 5;
  AwaitedNumber left(threads);
  std::vector<std::thread> others;
  for (std::uint32_t i = 0; i < threads; ++i) others.emplace_back([&] { left.count_down(); });
  while (const std::uint32_t count = left.value()) left.wait_while(count);
  CHECK(left.value() == 0);
  for (std::thread& other : others) other.join();
}

// A thread that waits long sleeps: it has used the processor for the time of its looking out at most, however long the
// other thread lets it wait. The other thread computes until the waiting thread has slept.
TEST_CASE("a thread that waits long sleeps") {
  AwaitedNumber changed;
  std::atomic<bool> waits{false};
  double used = 0;
  std::thread other([&] {
    const double before = thread_seconds();
    waits = true;
    changed.wait_while(0);
    used = thread_seconds() - before;
  });
  while (!waits) {
  }
  constexpr double computes = 0.2;
  for (const double begin = thread_seconds(); thread_seconds() - begin < computes;) {
  }
  changed.set(1);
  other.join();
  CHECK(used < computes / 2);
}

}  // namespace trainlab::awaited_number_test

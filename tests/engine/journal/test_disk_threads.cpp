// Work that waits for a disk, several at a time.
#include "journal/disk_threads.h"

#include <atomic>
#include <barrier>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace trainlab::disk_threads_test {

TEST_CASE("each work is done once, also by calls that come from several threads") {
  std::vector<std::atomic<int>> done(300);
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&, caller] {
      for (int call = 0; call < 10; ++call) {
        side_by_side(10, [&](std::int64_t i) { ++done[static_cast<std::size_t>(100 * caller + 10 * call + i)]; });
      }
    });
  }
  callers.clear();
  for (const auto& count : done) CHECK(count == 1);
}

TEST_CASE("two pieces of work are under way at a time") {
  std::barrier both(2);
  side_by_side(2, [&](std::int64_t) { both.arrive_and_wait(); });
}

TEST_CASE("all work is done before the error of the smallest number is raised") {
  std::atomic<int> done = 0;
  const auto work = [&](std::int64_t i) {
    ++done;
    if (i % 5 == 3) throw std::runtime_error(std::to_string(i));
  };
  CHECK_THROWS_WITH(side_by_side(20, work), "3");
  CHECK(done == 20);
  side_by_side(0, work);
  CHECK_THROWS_WITH(side_by_side(4, work), "3");
}

}  // namespace trainlab::disk_threads_test

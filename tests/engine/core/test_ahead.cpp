#include "core/threads/ahead.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <stdexcept>

namespace trainlab::ahead_test {

using trainlab::Ahead;

namespace {

// An item that counts how many of its kind are alive.
struct Counted {
  Counted(std::int64_t n, std::atomic<int>& count) : number(n), alive(&count) { ++*alive; }
  Counted(Counted&& other) noexcept : number(other.number), alive(other.alive) { ++*alive; }
  Counted& operator=(Counted&& other) noexcept {
    number = other.number;
    return *this;
  }
  ~Counted() { --*alive; }
  std::int64_t number;
  std::atomic<int>* alive;
};

}  // namespace

TEST_CASE("items come in order whatever the number of threads") {
  for (const int threads : {1, 2, 4, 8}) {
    for (const std::int64_t capacity : {1, 3, 8}) {
      Ahead<std::int64_t> ahead(threads, capacity, [](std::int64_t n) { return n * n; });
      for (std::int64_t i = 0; i < 500; ++i) REQUIRE(ahead.take() == i * i);
    }
  }
}

TEST_CASE("no more items than the capacity are made ahead, and all end with the object") {
  std::atomic<int> alive = 0;
  std::atomic<std::int64_t> taken = 0, furthest = 0;
  {
    Ahead<Counted> ahead(4, 3, [&](std::int64_t n) {
      furthest = std::max(furthest.load(), n - taken.load());
      return Counted(n, alive);
    });
    for (int i = 0; i < 1000; ++i) {
      REQUIRE(ahead.take().number == i);
      ++taken;
    }
  }
  // Between take() and the counter one more item may be begun.
  CHECK(furthest <= 3);
  CHECK(furthest >= 1);
  CHECK(alive == 0);
}

TEST_CASE("items beyond the end are made when the consumer comes to them, one at a time") {
  std::atomic<std::int64_t> taken = 0, beyond = 0;
  Ahead<std::int64_t> ahead(
      2, 4,
      [&](std::int64_t n) {
        if (n >= 10 && n > taken) ++beyond;
        return n;
      },
      10);
  for (std::int64_t i = 0; i < 20; ++i) {
    REQUIRE(ahead.take() == i);
    taken = i + 1;
  }
  ahead.seek(5);
  REQUIRE(ahead.take() == 5);
  CHECK(beyond == 0);
}

TEST_CASE("after seek() items come from there, and none made before shows up") {
  std::atomic<int> alive = 0;
  {
    Ahead<Counted> ahead(3, 5, [&](std::int64_t n) { return Counted(n, alive); });
    std::mt19937 random(5);
    for (int jump = 0; jump < 300; ++jump) {
      const std::int64_t place = random() % 1000;
      ahead.seek(place);
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(random() % 4); ++i)
        REQUIRE(ahead.take().number == place + i);
    }
  }
  CHECK(alive == 0);
}

TEST_CASE("an error of a worker is raised at its item, again until seek()") {
  for (const int threads : {1, 4}) {
    Ahead<std::int64_t> ahead(threads, 4, [](std::int64_t n) {
      if (n == 7) throw std::runtime_error("seven");
      return n;
    });
    for (std::int64_t i = 0; i < 7; ++i) REQUIRE(ahead.take() == i);
    CHECK_THROWS_WITH(ahead.take(), "seven");
    CHECK_THROWS_WITH(ahead.take(), "seven");
    ahead.seek(8);
    CHECK(ahead.take() == 8);
  }
}

TEST_CASE("it can end at any time") {
  for (int taken = 0; taken < 50; ++taken) {
    Ahead<std::unique_ptr<int>> ahead(3, 4, [](std::int64_t n) { return std::make_unique<int>(static_cast<int>(n)); });
    for (int i = 0; i < taken; ++i) REQUIRE(*ahead.take() == i);
  }
}

}  // namespace trainlab::ahead_test

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <csignal>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

namespace trainlab::openmp_test {

namespace {

// More threads than most machines have cores for.
constexpr int threads = 7;

std::vector<int> counted(int last) {
  std::vector<int> numbers(static_cast<std::size_t>(last));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace

TEST_CASE("a region is executed once by each of as many threads as were asked for") {
  for (const int size : {1, 2, threads, 3}) {
    std::vector<int> seen(static_cast<std::size_t>(size)), sizes = seen;
    int* const out = seen.data();
    int* const all = sizes.data();
#pragma omp parallel num_threads(size)
    {
      out[omp_get_thread_num()] += 1;
      all[omp_get_thread_num()] = omp_get_num_threads();
    }
    CHECK(std::ranges::count(seen, 1) == size);
    CHECK(std::ranges::count(sizes, size) == size);
  }
  CHECK(omp_get_num_threads() == 1);
  CHECK(omp_get_thread_num() == 0);
  CHECK(!omp_in_parallel());
}

TEST_CASE("each thread of the program says for itself how many threads its regions have") {
  omp_set_num_threads(3);
  int here = 0, there = 0, untold = 0;
#pragma omp parallel
#pragma omp single
  here = omp_get_num_threads();
  std::thread([&] {
    untold = omp_get_max_threads();
    omp_set_num_threads(5);
#pragma omp parallel
#pragma omp single
    there = omp_get_num_threads();
  }).join();
  CHECK(here == 3);
  CHECK(there == 5);
  CHECK(omp_get_max_threads() == 3);
  CHECK(untold == 1);
}

TEST_CASE("a region inside of a region is executed by one thread") {
  std::array<int, threads> inner{};
  int* const out = inner.data();
#pragma omp parallel num_threads(threads)
  {
    const int outer = omp_get_thread_num();
#pragma omp parallel num_threads(2)
    {
      if (omp_in_parallel() && omp_get_thread_num() == 0) out[outer] += omp_get_num_threads();
    }
    if (omp_get_num_threads() != threads || omp_get_thread_num() != outer) out[outer] = -1;
  }
  CHECK(std::ranges::count(inner, 1) == threads);
}

TEST_CASE("a fault has its handler on every thread of a region, and signals from outside go to other threads") {
  std::array<int, threads> faults{}, outside{};
  int* const of_faults = faults.data();
  int* const of_outside = outside.data();
#pragma omp parallel num_threads(threads)
  {
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    of_faults[omp_get_thread_num()] = sigismember(&blocked, SIGSEGV) + sigismember(&blocked, SIGABRT);
    of_outside[omp_get_thread_num()] = sigismember(&blocked, SIGTERM);
#pragma omp barrier
  }
  CHECK(std::ranges::count(faults, 0) == threads);
  CHECK(std::ranges::count(outside, 1) == threads - 1);
}

TEST_CASE("after a barrier each thread sees what all wrote before") {
  constexpr int rounds = 200;
  std::array<int, threads> written{};
  int* const own = written.data();
  int wrong = 0;
#pragma omp parallel num_threads(threads) reduction(+ : wrong)
  for (int round = 1; round <= rounds; ++round) {
    own[omp_get_thread_num()] = round;
#pragma omp barrier
    for (int i = 0; i < threads; ++i) wrong += own[i] != round ? 1 : 0;
#pragma omp barrier
  }
  CHECK(wrong == 0);
}

TEST_CASE("a single construct is executed by one thread each time") {
  constexpr int rounds = 500;
  int apart = 0, together = 0;
#pragma omp parallel num_threads(threads)
  for (int round = 0; round < rounds; ++round) {
#pragma omp single nowait
    {
#pragma omp atomic
      apart += 1;
    }
#pragma omp single
    together += 1;
  }
  CHECK(apart == rounds);
  CHECK(together == rounds);
}

TEST_CASE("a shared loop gives each iteration to one thread") {
  for (const auto& [begin, end, step] : {std::array<int, 3>{0, 1000, 1}, {5, 998, 7}, {1000, -3, -4}, {4, 4, 1}}) {
    std::vector<int> expected;
    for (int i = begin; step > 0 ? i < end : i > end; i += step) expected.push_back(i);
    std::vector<int> seen;
#pragma omp parallel num_threads(threads)
    {
      std::vector<int> own;
      if (step > 0) {
#pragma omp for schedule(monotonic : dynamic, 3) nowait
        for (int i = begin; i < end; i += step) own.push_back(i);
      } else {
#pragma omp for schedule(monotonic : dynamic, 3)
        for (int i = begin; i > end; i += step) own.push_back(i);
      }
#pragma omp critical
      seen.insert(seen.end(), own.begin(), own.end());
    }
    std::ranges::sort(seen);
    std::ranges::sort(expected);
    CHECK(seen == expected);
  }
}

TEST_CASE("threads may be at different shared loops at one time") {
  constexpr int loops = 50, count = 20;
  std::vector<int> sums(loops);
  int* const out = sums.data();
#pragma omp parallel num_threads(threads)
  for (int loop = 0; loop < loops; ++loop) {
#pragma omp for schedule(monotonic : dynamic, 1) nowait
    for (int i = 0; i < count; ++i) {
#pragma omp atomic
      out[loop] += i;
    }
  }
  CHECK(std::ranges::count(sums, count * (count - 1) / 2) == loops);
}

TEST_CASE("ordered parts run in the order of the iterations") {
  std::vector<int> order;
#pragma omp parallel for ordered schedule(monotonic : dynamic, 2) num_threads(threads)
  for (int i = 0; i < 101; ++i) {
#pragma omp ordered
    order.push_back(i);
  }
  CHECK(order == counted(101));
}

TEST_CASE("an ordered loop ends although some iterations have no ordered part") {
  std::vector<int> order;
#pragma omp parallel for ordered schedule(monotonic : dynamic, 1) num_threads(threads)
  for (int i = 0; i < 60; ++i) {
    if (i % 3 == 0) {
#pragma omp ordered
      order.push_back(i);
    }
  }
  REQUIRE(order.size() == 20);
  CHECK(std::ranges::is_sorted(order));
}

TEST_CASE("each section runs once") {
  std::array<int, 3> runs{};
#pragma omp parallel num_threads(threads)
  {
// Without this, g++ would make one construct of the region and its sections, which LibTorch has nowhere.
#pragma omp barrier
#pragma omp sections nowait
    {
#pragma omp section
      runs[0] += 1;
#pragma omp section
      runs[1] += 1;
#pragma omp section
      runs[2] += 1;
    }
  }
  CHECK(runs == std::array<int, 3>{1, 1, 1});
}

TEST_CASE("critical sections of one name exclude each other") {
  constexpr int rounds = 2000;
  int unnamed = 0, first = 0, second = 0;
#pragma omp parallel num_threads(threads)
  for (int round = 0; round < rounds; ++round) {
#pragma omp critical
    unnamed += 1;
#pragma omp critical(one)
    {
      first += 1;
#pragma omp critical(another)
      second += 1;
    }
  }
  CHECK(unnamed == threads * rounds);
  CHECK(first == threads * rounds);
  CHECK(second == threads * rounds);
}

TEST_CASE("regions follow each other without a lost thread, from several threads of the program") {
  constexpr int regions = 3000;
  std::array<long, 3> sums{};
  std::vector<std::thread> masters;
  for (long& sum : sums) {
    masters.emplace_back([&sum] {
      for (int region = 0; region < regions; ++region) {
        long own = 0;
#pragma omp parallel num_threads(1 + region % 4) reduction(+ : own)
        own += omp_get_thread_num() + 1;
        sum += own;
      }
    });
  }
  for (std::thread& master : masters) master.join();
  // Regions of one to four members add 1, 3, 6 and 10.
  CHECK(sums == std::array<long, 3>{regions / 4 * 20L, regions / 4 * 20L, regions / 4 * 20L});
}

}  // namespace trainlab::openmp_test

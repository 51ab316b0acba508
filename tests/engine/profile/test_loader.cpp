// Which of several measured loaders is suggested.
#include <catch2/catch.hpp>

#include "profile/loader.h"

namespace trainlab::loader_test {

namespace {

const TriedLoader own{.size = {1, 4}, .ratio = {1, 1, 1}};

TriedLoader tried(LoaderSize size, double low, double median) {
  return {.size = size, .ratio = {.median = median, .low = low, .high = 2 * median - low}};
}

}  // namespace

TEST_CASE("the fewest threads of the fastest loaders are suggested") {
  CHECK(fewest_of_the_fastest({own, tried({2, 4}, 1.5, 1.6), tried({4, 4}, 1.5, 1.61)}) == 1);
  CHECK(fewest_of_the_fastest({own, tried({2, 4}, 1.5, 1.6), tried({4, 4}, 1.8, 2.0)}) == 2);
  CHECK(fewest_of_the_fastest({own, tried({2, 16}, 1.5, 1.6), tried({2, 4}, 1.5, 1.6)}) == 2);
}

TEST_CASE("the fit keeps its loader where none is faster for certain") {
  CHECK(fewest_of_the_fastest({own}) == 0);
  CHECK(fewest_of_the_fastest({own, tried({2, 4}, 0.9, 1.6)}) == 0);     // perhaps slower
  CHECK(fewest_of_the_fastest({own, tried({2, 4}, 1.005, 1.01)}) == 0);  // by less than 2 %
  CHECK(fewest_of_the_fastest({own, tried({2, 4}, 0.5, 0.6)}) == 0);
  // One that may be by chance does not hide another that is faster.
  CHECK(fewest_of_the_fastest({own, tried({2, 4}, 0.9, 3), tried({4, 4}, 1.3, 1.4)}) == 2);
}

TEST_CASE("the table of loaders has a line for each") {
  FoundLoader found{.now = {1, 4}, .input = 0.4, .tried = {own, tried({2, 4}, 1.4, 1.5)}, .suggestion = 1};
  found.tried[1].speed.median = 490'200;
  CHECK(loader_text(found) ==
        "loader.threads = 2, loader.prefetch = 4\n\n"
        "a step waits for data for 40 % of its time with the loader as it is\n\n"
        "threads  prefetch  samples/s  speed to the loader as it is\n"
        "      1         4          0  1\n"
        "      2         4    490,200  1.50 (1.40 to 1.60)\n");
}

}  // namespace trainlab::loader_test

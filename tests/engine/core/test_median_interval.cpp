// The median and its interval from order statistics.
#include <catch2/catch.hpp>

#include <numeric>

#include "core/statistics.h"

namespace trainlab::interval_test {

namespace {

std::vector<double> first(std::size_t n) {
  std::vector<double> values(n);
  std::iota(values.rbegin(), values.rend(), 1.0);  // in falling order: the function sorts
  return values;
}

void check(std::size_t n, double median, double low, double high) {
  const MedianInterval interval = median_interval(first(n));
  CHECK(interval.median == median);
  CHECK(interval.low == low);
  CHECK(interval.high == high);
}

}  // namespace

// Ranks from the table of the binomial distribution (Conover, Practical Nonparametric Statistics, table A3).
TEST_CASE("the interval of the median has the ranks of the binomial distribution") {
  check(0, 0, 0, 0);
  check(1, 1, 1, 1);
  check(5, 3, 1, 5);
  check(6, 3.5, 1, 6);
  check(8, 4.5, 1, 8);
  check(9, 5, 2, 8);
  check(10, 5.5, 2, 9);
  check(20, 10.5, 6, 15);
  check(25, 13, 8, 18);
  check(100, 50.5, 40, 61);
}

TEST_CASE("the interval of many values is that of the exact ranks") {
  const MedianInterval exact = median_interval(first(1000));
  CHECK(exact.low == 469);
  CHECK(exact.high == 532);
  const MedianInterval approximate = median_interval(first(1002));
  CHECK(approximate.low == Approx(470).margin(1));
  CHECK(approximate.low + approximate.high == 1003);
}

TEST_CASE("half the width is relative to the median") {
  CHECK(MedianInterval{.median = 2, .low = 1.9, .high = 2.3}.half_width() == Approx(0.1));
  CHECK(MedianInterval{}.half_width() == 0);
}

}  // namespace trainlab::interval_test

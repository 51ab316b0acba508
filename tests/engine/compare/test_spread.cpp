#include <catch2/catch.hpp>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "compare/looks.h"
#include "compare/spread.h"

namespace trainlab::spread_test {

using namespace trainlab::compare;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

TEST_CASE("the spread of values and its interval") {
  const std::vector<double> values = {0.1, 0.13, 0.11, 0.1587, 0.1204};
  const Spread spread = spread_of(values);
  CHECK(spread.seeds == 5);
  CHECK_THAT(spread.mean, WithinAbs(0.12382, 1e-12));
  CHECK_THAT(spread.deviation, WithinRel(0.0224996, 1e-4));
  // √(4 / 11.14329) and √(4 / 0.4844186): the quantiles 0.975 and 0.025 of chi-squared with 4 degrees of freedom.
  CHECK_THAT(spread.low / spread.deviation, WithinAbs(0.599136, 1e-5));
  CHECK_THAT(spread.high / spread.deviation, WithinAbs(2.873551, 1e-4));

  const Spread of_two = spread_of(std::vector<double>{1, 2});
  CHECK_THAT(of_two.deviation, WithinAbs(std::sqrt(0.5), 1e-12));
  // 1 / √5.023886 and 1 / √0.0009820691.
  CHECK_THAT(of_two.low / of_two.deviation, WithinAbs(0.446149, 1e-5));
  CHECK_THAT(of_two.high / of_two.deviation, WithinRel(31.91, 1e-3));
}

TEST_CASE("a metric that counts samples has the variance of rounding, too") {
  const Spread spread = spread_of(std::vector<double>{0.90, 0.91, 0.93});
  CHECK_THAT(spread.deviation * spread.deviation, WithinAbs(7e-4 / 3 + 1e-4 / 12, 1e-9));
  const Spread equal = spread_of(std::vector<double>{0.9, 0.9, 0.9});
  CHECK(equal.mean == 0.9);
  CHECK(equal.deviation == 0);
  CHECK_THAT(resolution_of({0.90, 0.93, 0.91}), WithinAbs(0.01, 1e-9));
  CHECK(resolution_of({3, 3}) == 0);
}

TEST_CASE("what the mean of several seeds is worth, and what they detect") {
  for (const auto& [seeds, half, effect] : {std::tuple(3, 2.48, 3.26),
                                            {4, 1.59, 2.13},
                                            {5, 1.24, 1.68},
                                            {6, 1.05, 1.43},
                                            {8, 0.84, 1.156},
                                            {10, 0.72, 1.00},
                                            {15, 0.55, 0.78},
                                            {20, 0.47, 0.66},
                                            {30, 0.37, 0.53}}) {
    CHECK_THAT(half_width_of_mean(seeds), WithinAbs(half, 5e-3));
    CHECK_THAT(effect_detected(seeds), WithinAbs(effect, 5e-3));
    CHECK_THAT(difference_detected(seeds), WithinRel(std::sqrt(2) * effect_detected(seeds), 1e-12));
    // The difference that these seeds just detect needs them all.
    CHECK(pairs_for(1.0001 * difference_detected(seeds), 1000) == seeds);
    CHECK(pairs_for(0.999 * difference_detected(seeds), 1000) == seeds + 1);
  }
  CHECK(pairs_for(std::sqrt(2), 1000) == 10);
  CHECK(pairs_for(0, 1000) == 1000);
}

}  // namespace trainlab::spread_test

#include <catch2/catch.hpp>

#include <cmath>
#include <vector>

#include "core/random/stream.h"
#include "forecast/trend.h"

namespace trainlab::trend_test {

TEST_CASE("the most fall of a straight line is its fall") {
  std::vector<double> values;
  for (int i = 0; i < 12; ++i) values.push_back(5 - 0.25 * i);
  CHECK(most_fall(values) == Approx(3));
  for (double& one : values) one = -one;
  CHECK(most_fall(values) == Approx(-3));
  CHECK(most_fall(std::vector<double>(8, 2.0)) == 0);
}

TEST_CASE("the most fall has the standard error of least squares") {
  // By hand: x = −1.5 … 1.5, Σ x y = −2.4 and Σ x² = 5, so the slope is −0.48; the residuals are 0.28, −0.84, 0.84,
  // −0.28, which alternate, so their correlation counts as none; Σ r² = 1.568, and the error is √(1.568 / 2 / 5).
  // Student's quantile 0.95 for 2 degrees is 2.92.
  const std::vector<double> values{2, 0.4, 1.6, 0};
  CHECK(most_fall(values) == Approx((2.92 * std::sqrt(1.568 / 2 / 5) + 0.48) * 4).epsilon(0.02));
  // Residuals that stay on one side for a while are correlated, and count for less.
  const std::vector<double> runs{0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0}, mixed{0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0};
  CHECK(most_fall(runs) > 1.5 * most_fall(mixed));
}

TEST_CASE("the most fall is at least the true one in 95 of 100 noisy lines") {
  constexpr int lines = 4000;
  for (const int n : {6, 20, 100}) {
    for (const double correlation : {0.0, 0.5}) {
      int held = 0;
      for (int k = 0; k < lines; ++k) {
        Stream stream(Key(7).fold(static_cast<std::uint64_t>(n)).fold(static_cast<std::uint64_t>(k)));
        std::vector<double> values;
        double noise = stream.normal();
        for (int i = 0; i < n; ++i) {
          values.push_back(-0.05 * i + noise);
          noise = correlation * noise + std::sqrt(1 - correlation * correlation) * stream.normal();
        }
        held += most_fall(values) >= 0.05 * n;
      }
      const double share = static_cast<double>(held) / lines;
      INFO(n << " values, correlation " << correlation);
      // Few values do not show how they are correlated.
      CHECK(share > (correlation == 0 ? 0.94 : n == 100 ? 0.92 : 0.85));
      CHECK(share < 0.995);
    }
  }
}

}  // namespace trainlab::trend_test

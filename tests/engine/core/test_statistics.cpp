#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "core/statistics.h"

namespace trainlab::test_statistics {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

TEST_CASE("medians differ in an even number of values") {
  CHECK(median({9, 1, 2}) == 2);
  CHECK(upper_median({9, 1, 2}) == 2);
  CHECK(logarithmic_median({9, 1, 2}) == 2);
  CHECK(median({16, 1, 4, 2}) == 3);
  CHECK(upper_median({16, 1, 4, 2}) == 4);
  CHECK(logarithmic_median({32, 1, 8, 2}) == 4);
  CHECK(median({5, 5}) == 5);
  CHECK(upper_median({inf, 1}) == inf);
}

TEST_CASE("values that are NaN do not count in a median, and no value has none") {
  CHECK(median({nan, 3, nan, 1}) == 2);
  CHECK(upper_median({nan, 3, nan, 1}) == 3);
  CHECK(logarithmic_median({nan, 2, nan, 8}) == 4);
  CHECK(std::isnan(median({})));
  CHECK(std::isnan(upper_median({nan})));
  CHECK(std::isnan(logarithmic_median({})));
}

TEST_CASE("a mean and its error") {
  const MeanAndError found = mean_and_error(std::vector<double>{.012, .008, .015, .004, .011});
  CHECK(found.mean == Approx(.01));
  CHECK(found.deviation == Approx(.00418330));
  CHECK(found.mean / found.error == Approx(5.3452).epsilon(1e-5));
  CHECK(mean_and_error(std::vector<double>{3, 3}).error == 0);
  CHECK(mean_and_error(std::vector<double>{7}).mean == 7);
  CHECK(std::isnan(mean_and_error(std::vector<double>{7}).deviation));
  CHECK(std::isnan(mean_and_error(std::vector<double>{7}).error));
  CHECK(std::isnan(mean_and_error({}).mean));
}

TEST_CASE("Student's distribution has the quantiles of its tables") {
  CHECK(student_quantile(0.9, 1) == Approx(3.0777).epsilon(1e-4));
  CHECK(student_quantile(0.9, 9) == Approx(1.3830).epsilon(1e-4));
  CHECK(student_quantile(0.95, 2) == Approx(2.9200).epsilon(1e-4));
  CHECK(student_quantile(0.975, 7) == Approx(2.3646).epsilon(1e-4));
  CHECK(student_quantile(0.025, 7) == Approx(-2.3646).epsilon(1e-4));
  CHECK(student_quantile(0.9, 1e9) == Approx(normal_quantile_90).epsilon(1e-6));
  CHECK(student_p(5.3452, 4) == Approx(.00590).epsilon(1e-3));
  CHECK(student_p(-5.3452, 4) == student_p(5.3452, 4));
  CHECK(student_p(0, 4) == Approx(1));
  CHECK(student_p(inf, 4) == 0);
}

TEST_CASE("the power of a test without an effect is its error rate, and grows to 1 with the effect") {
  for (const double limit : {0.5, 2.0, 5.3452}) {
    CHECK(student_power(limit, 4, 0) == Approx(student_p(limit, 4)));
    CHECK(student_power(limit, 4, -3) == Approx(student_power(limit, 4, 3)));
  }
  // With 1e7 degrees of freedom t is normal: P(z > 1.96 − 2.8) + P(z < −1.96 − 2.8).
  CHECK(student_power(1.959964, 1e7, 2.8) == Approx(.79955).epsilon(1e-3));
  CHECK(student_power(2.7764, 4, 30) == Approx(1));
}

TEST_CASE("the chi-squared distribution has the quantiles of its tables") {
  for (const double share : {0.001, 0.4, 0.5, 0.9, 0.999}) {
    CHECK(chi_squared_quantile(share, 2) == Approx(-2 * std::log1p(-share)));
  }
  CHECK(chi_squared_quantile(0.975, 9) == Approx(19.0228).epsilon(1e-5));
  CHECK(chi_squared_quantile(0.025, 9) == Approx(2.70039).epsilon(1e-5));
}

TEST_CASE("quantiles differ between two values") {
  const std::vector<double> sorted{10, 20, 40, 80};
  for (const auto& quantile : {linear_quantile, nearest_quantile, lower_quantile}) {
    CHECK(quantile(sorted, 0) == 10);
    CHECK(quantile(sorted, 1) == 80);
    CHECK(quantile(std::vector<double>{7}, 0.9) == 7);
  }
  // The places 0.75, 1.5 and 2.25.
  CHECK(linear_quantile(sorted, 0.25) == 17.5);
  CHECK(linear_quantile(sorted, 0.5) == 30);
  CHECK(nearest_quantile(sorted, 0.25) == 20);
  CHECK(nearest_quantile(sorted, 0.5) == 40);
  CHECK(nearest_quantile(sorted, 0.75) == 40);
  CHECK(lower_quantile(sorted, 0.25) == 10);
  CHECK(lower_quantile(sorted, 0.5) == 20);
}

TEST_CASE("a linear quantile beside an infinite value is a value") {
  const std::vector<double> sorted{-inf, 1, 2, inf};
  CHECK(linear_quantile(sorted, 0.1) == 1);
  CHECK(linear_quantile(sorted, 1.0 / 3) == 1);
  CHECK(linear_quantile(sorted, 0.5) == 1.5);
  CHECK(linear_quantile(sorted, 0.9) == inf);
}

}  // namespace
}  // namespace trainlab::test_statistics

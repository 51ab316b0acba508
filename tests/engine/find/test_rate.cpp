// Rates from range tests: the rules on curves that are known, and the whole search on a small fit.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "find/rate.h"
#include "support/fit_support.h"

namespace trainlab::rate_test {

using namespace test;

namespace {

// Falls between 1e-4 and 1e-1, and rises behind.
std::vector<RatePoint> valley_curve() {
  std::vector<RatePoint> curve;
  for (int i = 0; i < 140; ++i) {
    const double log_rate = -6 + 7.0 * i / 139;
    const double fallen = std::clamp((log_rate + 4) / 3, 0.0, 1.0), risen = std::max(log_rate + 0.5, 0.0);
    curve.push_back({std::pow(10, log_rate), 2.3 - 1.5 * fallen + 20 * risen});
  }
  return curve;
}

}  // namespace

TEST_CASE("the rules read a curve that falls and rises") {
  const RateSuggestions found = suggestions_of(valley_curve());
  CHECK(found.quarter_of_least == Approx(0.1 / 4).epsilon(0.15));
  CHECK(found.valley > 1e-4);
  CHECK(found.valley < 0.1);
  CHECK(found.steepest > 1e-4);
  CHECK(found.steepest < 0.3);
}

TEST_CASE("what comes after the loss is lost does not count") {
  std::vector<RatePoint> curve = valley_curve();
  const RateSuggestions before = suggestions_of(curve);
  for (std::size_t i = 130; i < curve.size(); ++i) curve[i].loss = i % 2 ? std::nan("") : 0;
  CHECK(suggestions_of(curve).quarter_of_least == before.quarter_of_least);
  CHECK(std::isnan(suggestions_of({}).quarter_of_least));
}

TEST_CASE("losses of small batches, which are noisy, give the same rate within a factor of ten") {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 50; ++i) {
    std::vector<RatePoint> curve = valley_curve();
    for (RatePoint& point : curve) point.loss *= std::exp(normal(random) / 2);
    const double rate = suggestions_of(curve).quarter_of_least;
    CHECK(rate > 0.1 / 4 / 10);
    CHECK(rate < 0.1 / 4 * 10);
  }
}

TEST_CASE("the median over curves is one in the logarithm of the rate") {
  const RateSuggestions median = median_of({{1e-3, 1, 1}, {1e-1, 1, 1}, {std::nan(""), 1, 4}});
  CHECK(median.quarter_of_least == Approx(1e-2));
  CHECK(median.steepest == 1);
}

TEST_CASE("a rate is found for a small fit, twice the same") {
  const RunSettings settings = test_settings();
  prepare_arithmetic(1);
  Spec spec;
  spec.value = full_registry().check(parse_json(digits_fit(R"(, "epochs": 3)"), "test"), "fit");
  const RateOptions options{.seeds = 3, .steps = 70};
  const FoundRate found = find_rate(full_registry(), spec, settings, options);
  // AdamW trains this fit well from 1e-3 to 5e-2.
  CHECK(found.suggestion > 1e-3);
  CHECK(found.suggestion < 0.1);
  REQUIRE(found.probes.size() == 3);
  CHECK(found.probes[1].rate == found.start);
  CHECK(found.curve.size() > 30);
  const Value value = to_value(found);
  CHECK(value["kind"] == Value("finder"));
  CHECK(value["lr"]["suggestion"].number() == found.suggestion);
  CHECK(value["curve"].list().front()["lr"].number() == Approx(1e-6));
  CHECK(to_json(to_value(find_rate(full_registry(), spec, settings, options))) == to_json(value));
}

}  // namespace trainlab::rate_test

// The effect of more data: forecasts of curves with closed forms, and curves that say nothing.
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "forecast/data_curve.h"

namespace trainlab::data_curve_test {

namespace {

using Catch::Matchers::WithinAbs;

// Results on 100, 200, 400 and 800 samples; `form` gets the share of the data. Each seed adds its offset to all sizes.
std::vector<SizedResults> results_of(const std::function<double(double)>& form, const std::vector<double>& offsets) {
  std::vector<SizedResults> all;
  for (const double samples : {100.0, 200.0, 400.0, 800.0}) {
    SizedResults one{.samples = samples, .values = {}};
    for (const double offset : offsets) one.values.push_back(form(samples / 800) + offset);
    all.push_back(one);
  }
  return all;
}

double power(double x) { return 0.4 / std::sqrt(x); }

}  // namespace

TEST_CASE("a power law is continued") {
  const DataCurve curve = data_curve(results_of(power, {0, 0, 0}), true);
  CHECK(curve.unknown.empty());
  REQUIRE(curve.points.size() == 4);
  CHECK(curve.points[0].samples == 100);
  CHECK_THAT(curve.points[3].mean, WithinAbs(0.4, 1e-12));
  CHECK_THAT(curve.points[3].error, WithinAbs(0, 1e-12));
  REQUIRE(curve.forecasts.size() == 2);
  const double gain = power(0.5) - power(1);
  for (const auto& [index, factor, gains] : {std::tuple(0, 2.0, 0.6), {1, 4.0, 1.0}}) {
    const DataForecast& found = curve.forecasts[static_cast<std::size_t>(index)];
    CHECK(found.factor == factor);
    CHECK(found.is_known);
    CHECK_THAT(found.value, WithinAbs(power(factor), 0.005));
    // Without a spread over the seeds the half-width is a share of the last doubling's gain.
    CHECK_THAT(found.value - found.low, WithinAbs(gains * gain, 1e-9));
    CHECK_THAT(found.high - found.value, WithinAbs(gains * gain, 1e-9));
  }
}

TEST_CASE("a share that is maximised is forecast like the share of errors") {
  const DataCurve errors = data_curve(results_of(power, {0, 0.01}), true);
  // Errors up to 1.13 are no shares: both curves are halved.
  const auto half = [](double x) { return power(x) / 2; };
  const DataCurve halved = data_curve(results_of(half, {0, 0.005}), true);
  const DataCurve shares = data_curve(results_of([&](double x) { return 1 - half(x); }, {0, -0.005}), false);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK_THAT(halved.forecasts[i].value, WithinAbs(errors.forecasts[i].value / 2, 1e-6));
    CHECK_THAT(shares.forecasts[i].value, WithinAbs(1 - halved.forecasts[i].value, 1e-6));
    CHECK_THAT(shares.forecasts[i].low, WithinAbs(1 - halved.forecasts[i].high, 1e-6));
    CHECK_THAT(shares.forecasts[i].high, WithinAbs(1 - halved.forecasts[i].low, 1e-6));
    CHECK(shares.forecasts[i].is_known);
  }
}

TEST_CASE("the spread over the seeds widens the interval") {
  // Values below 0 have no bound, so that an offset of a seed moves its forecast by as much. The jackknife's error of
  // two seeds is then half of their distance, and the quantile 0.9 for one degree of freedom is 3.0777.
  const auto form = [](double x) { return power(x) - 2; };
  const double offset = 0.02, gain = power(0.5) - power(1);
  const DataCurve curve = data_curve(results_of(form, {-offset, offset}), true);
  CHECK_THAT(curve.points[0].error, WithinAbs(offset, 1e-9));
  for (const auto& [index, gains] : {std::pair(0, 0.6), {1, 1.0}}) {
    const DataForecast& found = curve.forecasts[static_cast<std::size_t>(index)];
    CHECK_THAT(found.high - found.value, WithinAbs(std::hypot(gains * gain, 3.0777 * offset), 1e-6));
    CHECK_THAT(found.value - found.low, WithinAbs(std::hypot(gains * gain, 3.0777 * offset), 1e-6));
  }
}

TEST_CASE("no value is forecast beyond the metric's bound") {
  const DataCurve curve =
      data_curve(results_of([](double x) { return 0.01 + 0.5 * std::exp(-5 * x); }, {0, 0.001}), true);
  for (const DataForecast& found : curve.forecasts) {
    CHECK(found.low >= 0);
    CHECK(found.value >= found.low);
    CHECK(found.value <= found.high);
  }
}

TEST_CASE("three sizes are enough") {
  std::vector<SizedResults> results = results_of(power, {0, 0});
  results.erase(results.begin());
  const DataCurve curve = data_curve(results, true);
  CHECK(curve.unknown.empty());
  CHECK_THAT(curve.forecasts[0].value, WithinAbs(power(2), 0.005));
}

TEST_CASE("curves that say nothing have no forecast") {
  const auto flat = [](double) { return 0.5; };
  DataCurve curve = data_curve(results_of(flat, {-0.01, 0.01, 0}), true);
  CHECK(curve.unknown == "the parts differ too little, beside the spread over the seeds, to continue the curve");
  for (const DataForecast& found : curve.forecasts) CHECK_FALSE(found.is_known);

  // A rise at the end that the seeds agree about.
  const auto turning = [](double x) { return std::abs(std::log2(x) + 1); };
  curve = data_curve(results_of(turning, {-0.01, 0.01, 0}), true);
  CHECK(curve.unknown == "all data give a worse value than half of them, by more than the seeds explain");
  CHECK_FALSE(curve.forecasts[0].is_known);
}

TEST_CASE("twice the data may be forecast where four times cannot") {
  // Falls of 0.01 and 0.19; the errors of two seeds are 0.03. The half-widths are √((0.6 · 0.19)² + (3.0777 · 0.03)²) =
  // 0.147 and √(0.19² + (3.0777 · 0.03)²) = 0.211, on both sides of the whole fall of 0.2.
  std::vector<SizedResults> results;
  for (const auto& [samples, value] : {std::pair(200.0, -1.0), {400.0, -1.01}, {800.0, -1.2}})
    results.push_back({.samples = samples, .values = {value - 0.03, value + 0.03}});
  const DataCurve curve = data_curve(results, true);
  CHECK_THAT(curve.unknown, Catch::EndsWith("to continue the curve to 4 times the data"));
  CHECK(curve.forecasts[0].is_known);
  CHECK_FALSE(curve.forecasts[1].is_known);
}

}  // namespace trainlab::data_curve_test

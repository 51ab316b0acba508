// Which size of a batch is suggested, from the range of the knee and the seconds of steps, and what the seconds are.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "find/batch.h"
#include "support/fit_support.h"

namespace trainlab::batch_test {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double any = 1e9;  // all sizes take the same time

// Steps of 4 to 1,024 samples, each of which takes the same time with up to `free` samples, and then in proportion.
FoundBatch found(double knee_low, double knee_high, double free) {
  FoundBatch found{.batch = 16, .knee_low = knee_low, .knee_high = knee_high};
  for (std::int64_t batch = 4; batch <= 1024; batch *= 2)
    found.curve.push_back({.batch = batch, .seconds = std::max(static_cast<double>(batch), free)});
  judge_sizes(found);
  return found;
}

}  // namespace

TEST_CASE("a larger batch is suggested as far as the lower end of the knee makes it pay") {
  // Steps cost the same whatever their size: at a knee of 12, 1 + 12 / batch is within 5 % of its least from 256 on.
  CHECK(found(12, 80, any).suggestion == 256);
  CHECK(found(12, infinity, any).suggestion == 256);
  CHECK(found(1, 80, any).suggestion == 32);
}

TEST_CASE("a smaller batch is suggested as far as the upper end of the knee makes it pay") {
  CHECK(found(0.5, 1, 0).suggestion == 4);  // twice the samples take twice the time
  CHECK(found(0.5, 1e4, 16).suggestion == 16);
}

TEST_CASE("where the knee may be anything the batch stays as it is") {
  for (const double free : {16.0, any}) {
    const FoundBatch unknown = found(0, infinity, free);
    CHECK(unknown.suggestion == 16);
    for (const BatchPoint& point : unknown.curve) {
      CHECK(std::isnan(point.time));
      CHECK(std::isnan(point.samples));
    }
  }
}

TEST_CASE("a range that begins at 0 has no middle, whose times would look certain") {
  CHECK(std::isnan(found(0, 80, any).curve[3].time));
  CHECK(found(0, 0, any).curve[3].time == Approx(1));  // no noise: each size takes as many steps
}

TEST_CASE("times and samples are those of the middle of the range") {
  const FoundBatch here = found(4, 64, any);  // the middle is 16
  CHECK(here.curve[2].time == Approx(1));
  CHECK(here.curve[3].time == Approx(1.5 / 2));
  CHECK(here.curve[3].samples == Approx(1.5));
}

TEST_CASE("larger sizes are of no use once two in a row take longer to the same loss") {
  // The times to a loss at a knee of 96 are 25 s, 14 s with twice the samples, 16 s and 25 s.
  const auto curve_of = [](const std::vector<double>& seconds) {
    std::vector<BatchPoint> curve;
    for (const double one : seconds) curve.push_back({.batch = std::int64_t{4} << curve.size(), .seconds = one});
    return curve;
  };
  CHECK_FALSE(takes_longer(curve_of({}), 96));
  CHECK_FALSE(takes_longer(curve_of({1, 14.0 / 13}), 96));
  CHECK_FALSE(takes_longer(curve_of({1, 14.0 / 13, 16.0 / 7}), 96));
  CHECK(takes_longer(curve_of({1, 14.0 / 13, 16.0 / 7, 25.0 / 4}), 96));
  // Within 5 % is no longer.
  CHECK_FALSE(takes_longer(curve_of({1, 14.0 / 13, 16.0 / 7, 1.04 * 16 / 4}), 96));
  // Where the knee is unknown, a larger size may save more: here it takes twice the time for four times the samples.
  CHECK_FALSE(takes_longer(curve_of({1, 1.5, 2}), infinity));
  CHECK(takes_longer(curve_of({1, 1.5, 2}), 0));
}

TEST_CASE("the line to type names the option that the recipe gives as a number") {
  FoundBatch batch = found(4, 64, any);
  CHECK_THAT(batch_text(batch), Catch::Contains(" --b batch=4 "));
  batch.accumulate = 2;
  CHECK_THAT(batch_text(batch), Catch::Contains(" --b batch=2 "));
  batch.option = "effective";
  CHECK_THAT(batch_text(batch), Catch::Contains(" --b effective=4 "));
  batch.option = "batch";
  batch.is_number = false;  // "auto"
  CHECK_THAT(batch_text(batch), !Catch::Contains("the test, "));
}

TEST_CASE("the efficiency of a batch") {
  CHECK(efficiency_of(16, 16) == Approx(0.5));
  CHECK(efficiency_of(16, 0) == 0);
  CHECK(efficiency_of(16, infinity) == 1);
}

TEST_CASE("no validation is a part of the time of a step") {
  using namespace test;
  prepare_arithmetic(1);
  bool is_timing = false;
  int before = 0, while_timing = 0;
  Spec spec{.value = {}, .functions = {native([&](std::span<const Argument>) -> std::vector<Argument> {
                           ++(is_timing ? while_timing : before);
                           return {Value(1.0)};
                         })}};
  std::string fit = digits_fit(R"(, "epochs": 20)");
  const std::string accuracy = R"(["accuracy"])";
  fit.replace(fit.find(accuracy), accuracy.size(), R"([{"@": "function", "index": 0}])");
  spec.value = full_registry().check(parse_json(fit, "test"), "fit");
  BatchOptions options;
  options.context.say = [&](const std::string& line) { is_timing = is_timing || line.starts_with("steps of "); };
  const FoundBatch found = find_batch(full_registry(), spec, test_settings(), options);
  CHECK(found.curve.size() > 1);
  CHECK(before > 0);
  CHECK(while_timing == 0);
}

}  // namespace trainlab::batch_test

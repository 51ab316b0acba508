// Parts of training data, and the trainings on parts of a small fit's data.
#include <ATen/ops/arange.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "find/subsets.h"
#include "support/error_of.h"
#include "support/fit_support.h"
#include "tensor/types.h"

namespace trainlab::subsets_test {

using namespace test;

namespace {

std::vector<std::int64_t> rows_of(const Part& part) {
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < part.size(); ++i) rows.push_back(part.row(i));
  return rows;
}

// Rows 1, 3, 5, … of a column of numbers.
Part odd_rows(std::int64_t count) {
  Dataset data;
  data.size = 2 * count;
  data.columns.push_back({.name = "x", .values = at::arange(2 * count), .scale = {}, .shift = {}});
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < count; ++i) rows.push_back(2 * i + 1);
  return {.data = std::make_shared<const Dataset>(std::move(data)),
          .rows = std::make_shared<const std::vector<std::int64_t>>(std::move(rows))};
}

Spec small_fit(const std::string& more) {
  return {.value = full_registry().check(parse_json(digits_fit(more), "test"), "fit"), .functions = {}};
}

// How many seeds the lines of a search announce. On a machine that is slow enough, other lines tell how long a training
// takes.
std::ptrdiff_t seeds_in(const std::vector<std::string>& lines) {
  return std::ranges::count_if(lines, [](const std::string& line) { return line.starts_with("seed "); });
}

// The error of a search in this time.
std::string error_within(const std::function<double()>& seconds_left, const std::string& length) {
  prepare_arithmetic(1);
  const SearchContext context{.seconds_left = seconds_left};
  return error_of([&] { train_on_subsets(full_registry(), small_fit(length), test_settings(), context); });
}

constexpr const char* too_long = "two seeds do not fit; a training of the largest size takes about ";

}  // namespace

TEST_CASE("smaller shares of a part are parts of larger ones") {
  const Part train = odd_rows(1000);
  const std::vector<std::int64_t> whole = rows_of(train);
  CHECK(rows_of(share_of(train, 1, Key(1))) == whole);
  const std::vector<std::int64_t> half = rows_of(share_of(train, 0.5, Key(1))),
                                  eighth = rows_of(share_of(train, 0.125, Key(1)));
  CHECK(half.size() == 500);
  CHECK(eighth.size() == 125);
  CHECK(std::equal(eighth.begin(), eighth.end(), half.begin()));
  const std::set<std::int64_t> different(half.begin(), half.end());
  CHECK(different.size() == 500);
  CHECK(std::ranges::all_of(half, [](std::int64_t row) { return row % 2 == 1 && row < 2000; }));
  CHECK(rows_of(share_of(train, 0.5, Key(2))) != half);
}

TEST_CASE("of samples that overlap the first ones are taken") {
  Dataset windows;
  windows.size = 97;
  windows.columns.push_back(
      {.name = "x", .values = at::arange(100).as_strided({97, 4}, {1, 1}), .scale = {}, .shift = {}});
  const Part train{.data = std::make_shared<const Dataset>(std::move(windows)),
                   .rows = nullptr,
                   .draws = std::make_shared<const Draws>(Draws{.count = 25, .cumulative = {}})};
  const Part half = share_of(train, 0.5, Key(1));
  REQUIRE(half.size() == 49);
  CHECK(half.row(0) == 0);
  CHECK(half.row(48) == 48);
  CHECK(half.epoch_size() == 13);
}

TEST_CASE("a small fit is trained on parts of its data, twice the same") {
  const RunSettings settings = test_settings();
  prepare_arithmetic(1);
  const Spec fit = small_fit(R"(, "epochs": 2)");
  std::vector<std::string> lines;
  const SearchContext context{.say = [&](const std::string& line) { lines.push_back(line); }};
  const EmptyFolder folder;
  const FoundSubsets found = train_on_subsets(full_registry(), fit, settings, context);
  CHECK(folder.is_empty());
  CHECK(found.seeded.metric == "val.loss");
  CHECK(found.seeded.minimize);
  CHECK(found.seeded.failed == 0);
  CHECK(seeds_in(lines) == 3);
  REQUIRE(found.sizes.size() >= 3);
  for (std::size_t i = 0; i < found.sizes.size(); ++i) {
    CHECK(found.sizes[i].values.size() == 3);
    if (i > 0) CHECK(std::abs(found.sizes[i].samples / found.sizes[i - 1].samples - 2) < 0.05);
  }
  CHECK(found.curve.points.front().mean > found.curve.points.back().mean);
  const FoundSubsets again = train_on_subsets(full_registry(), fit, settings, context);
  for (std::size_t i = 0; i < found.sizes.size(); ++i) CHECK(again.sizes[i].values == found.sizes[i].values);
}

TEST_CASE("fits whose data cannot be divided") {
  const auto refusal = [](const Spec& fit) {
    return error_of([&] { train_on_subsets(full_registry(), fit, test_settings(), {}); });
  };
  Spec large = small_fit(R"(, "epochs": 1)");
  large.value.set("batch", 1000);
  CHECK_THAT(refusal(large), Catch::Contains("expected at least 4000 training samples, so that a quarter of them fills "
                                             "a step of 1000, found 1438"));
  CHECK_THAT(refusal(small_fit(R"(, "epochs": 1, "monitor": "train.loss", "keep": "last")")),
             Catch::Contains("expected a metric of a validation part, found train.loss"));
}

TEST_CASE("two seeds must fit into the time") {
  CHECK_THAT(error_within([] { return 1e-9; }, R"(, "epochs": 1)"), Catch::Contains("two seeds do not fit"));
  CHECK_THAT(error_within([] { return -1.0; }, R"(, "epochs": 1)"),
             Catch::Contains("two seeds do not fit; the time was over before the first training"));
}

TEST_CASE("a training ends at the step at which the time is over") {
  int asked = 0;
  const auto left = [&] { return ++asked < 50 ? 1e9 : -1.0; };
  CHECK_THAT(error_within(left, R"(, "steps": 2000)"), Catch::Contains(too_long));
  // The time is asked for once or twice a step.
  CHECK(asked < 55);
}

TEST_CASE("the first steps of a training show that the time is far too short") {
  // The time is never over: only the estimate ends the training of a billion steps.
  CHECK_THAT(error_within([] { return 5.0; }, R"(, "steps": 1000000000)"), Catch::Contains(too_long));
}

TEST_CASE("a length that is a time is known before the first training") {
  int asked = 0;
  const auto left = [&] {
    ++asked;
    return 60.0;
  };
  CHECK_THAT(error_within(left, R"(, "time": "1 h")"), Catch::Contains(std::string(too_long) + "3600 s"));
  CHECK(asked < 5);
}

TEST_CASE("a fit that a stop rule may end early is trained all the same") {
  prepare_arithmetic(1);
  const Spec fit = small_fit(
      R"(, "steps": 1000000000, "validate": "2 steps", "stop": [{"@": "stop.threshold", "metric": "val.loss", )"
      R"("below": 1e9}])");
  const SearchContext context{.seconds_left = [] { return 1000.0; }};
  CHECK(train_on_subsets(full_registry(), fit, test_settings(), context).seeded.seeds == 10);
}

TEST_CASE("a seed that the end of the time cuts short does not count") {
  prepare_arithmetic(1);
  std::vector<std::string> lines;
  int asked_since = 0;
  const SearchContext context{.say = [&](const std::string& line) { lines.push_back(line); },
                              .seconds_left = [&] { return seeds_in(lines) < 2 || ++asked_since < 20 ? 1e9 : -1.0; }};
  const EmptyFolder folder;
  const FoundSubsets found = train_on_subsets(full_registry(), small_fit(R"(, "steps": 12)"), test_settings(), context);
  CHECK(folder.is_empty());
  CHECK(asked_since < 25);
  CHECK(found.seeded.seeds == 2);
  for (const SizedResults& size : found.sizes) CHECK(size.values.size() == 2);
}

}  // namespace trainlab::subsets_test

// How long a training takes, told by its first steps.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "find/training_pace.h"
#include "support/fit_support.h"
#include "tensor/types.h"

namespace trainlab::training_pace_test {

using namespace test;

namespace {

FitPlan plan_of(const std::string& length) {
  prepare_arithmetic(1);
  return plan_fit(parse_options(digits_fit(length)), test_settings());
}

// `left`: the seconds that are left, one after the other as they are asked for; the last ones stay.
double expected(const std::string& length, const std::vector<double>& left) {
  std::size_t asked = 0;
  return expected_seconds(plan_of(length), test_settings(), [&] { return left[std::min(asked++, left.size() - 1)]; });
}

}  // namespace

TEST_CASE("a long training is known by about a second of it") {
  const EmptyFolder folder;
  // No machine takes a billion steps in a quarter of an hour.
  CHECK(expected(R"(, "steps": 1000000000)", {1e9}) > 1000);
  CHECK(folder.is_empty());
}

TEST_CASE("a time is at most the length of a training") {
  CHECK(expected(R"(, "time": "1 h")", {-1}) == 3600);
  CHECK(expected(R"(, "steps": 1000000000, "time": "10 min")", {1e9}) == 600);
}

TEST_CASE("a training is told by the steps for which there was time") {
  CHECK(expected(R"(, "steps": 1000000000)", {1, -1}) > 1000);  // one step
  CHECK(expected(R"(, "steps": 1000000000)", {1, 1, 1, -1}) > 1000);
  CHECK(expected(R"(, "steps": 10)", {-1}) == 0);
}

TEST_CASE("the estimate of a training that has ended is its time") {
  const FitPlan plan = plan_of(R"(, "epochs": 5, "validate": "1 epochs")");
  const auto pace = std::make_shared<TrainingPace>(plan, [](const TrainingPace&) { return false; });
  const RunSettings settings = test_settings();
  StageContext stage = silent_context(plan.options);
  stage.settings = &settings;
  const FitMember member{.options = plan.options, .context = std::move(stage), .shows_progress = false};
  run_fits(plan, {&member, 1}, false, {.observers = {pace}});
  // The first step counts as the mean of the others, and what comes before it and after the last validation does not.
  const auto steps = static_cast<double>(plan.length.total_steps);
  CHECK(pace->seconds() > 0);
  CHECK(pace->seconds() <= pace->elapsed() * steps / (steps - 1));
}

}  // namespace trainlab::training_pace_test

// The time that a fit keeps for its end, under a budget of time.
#include <catch2/catch.hpp>

#include "pace.h"
#include "support/fit_support.h"
#include "train/evaluation_seconds.h"

namespace trainlab::pace_test {

using namespace test;

TEST_CASE("time is kept for each evaluation at the end") {
  const FitPlan plan = plan_fit(parse_options(digits_fit(R"(, "epochs": 1)")), test_settings());
  Pace alone(plan, {}), with_another(plan, {&*plan.data.val, &*plan.data.val});
  for (Pace* pace : {&alone, &with_another}) pace->validated(2);
  CHECK(with_another.needed(64) == Approx(alone.needed(64) + 4));
  CHECK(with_another.reserve(64) == Approx(alone.reserve(64) + 6));
}

TEST_CASE("an evaluation takes its part of a validation, or of the steps where there is none") {
  const auto parts = [](const std::string& split) {
    std::string fit = digits_fit(R"(, "epochs": 1)");
    const std::string own = R"("train": 0.8, "val": 0.1, "test": 0.1)";
    return plan_fit(parse_options(fit.replace(fit.find(own), own.size(), split)), test_settings()).data;
  };
  EvaluationSpeed speed{.validation = 2, .step = 0.5, .samples = 64};
  const DataParts three = parts(R"("train": 0.4, "val": 0.1, "test": 0.5)");
  const auto val = static_cast<double>(three.val->size()), test = static_cast<double>(three.test->size());
  CHECK(evaluation_seconds(three, *three.val, speed) == Approx(2));
  CHECK(evaluation_seconds(three, *three.test, speed) == Approx(2 * test / val));
  CHECK(evaluation_seconds(three, *three.test, speed) > 9);
  speed.validation = 0;
  CHECK(evaluation_seconds(three, *three.test, speed) == Approx(0.5 * 0.5 * test / 64));
  const DataParts two = parts(R"("train": 0.5, "test": 0.5)");
  REQUIRE_FALSE(two.val);
  CHECK(evaluation_seconds(two, *two.test, speed) == Approx(0.25 * static_cast<double>(two.test->size()) / 64));
}

}  // namespace trainlab::pace_test

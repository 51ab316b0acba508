// The time that a fit keeps for its end, under a budget of time.
#include <catch2/catch.hpp>

#include "pace.h"
#include "support/fit_support.h"

namespace trainlab::pace_test {

using namespace test;

TEST_CASE("time is kept for each evaluation at the end") {
  const FitPlan plan = plan_fit(parse_options(digits_fit(R"(, "epochs": 1)")), test_settings());
  Pace alone(plan, {}), with_another(plan, {&*plan.data.val, &*plan.data.val});
  for (Pace* pace : {&alone, &with_another}) pace->validated(2);
  CHECK(with_another.needed(64) == Approx(alone.needed(64) + 4));
  CHECK(with_another.reserve(64) == Approx(alone.reserve(64) + 6));
}

}  // namespace trainlab::pace_test

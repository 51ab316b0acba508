#include <catch2/catch.hpp>

#include <cmath>

#include "forecast/learning_curve.h"

namespace trainlab::learning_curve_test {

TEST_CASE("a learning curve keeps the best value beside each value, in the metric's direction") {
  LearningCurve falling(true), rising(false);
  for (const double value : {3.0, 1.0, std::nan(""), 2.0}) {
    falling.add(1, value);
    rising.add(1, value);
  }
  CHECK(falling.validations() == 3);
  CHECK(falling.points().back().value == 2);
  CHECK(falling.points().back().best == 1);
  CHECK(rising.points().back().best == 3);
}

TEST_CASE("a long learning curve keeps evenly spaced points, the first one and the last one") {
  LearningCurve curve(true);
  for (int i = 1; i <= 1000; ++i) {
    curve.add(10.0 * i, 1.0 / i);
    const auto& points = curve.points();
    REQUIRE(points.size() <= 128);
    REQUIRE(points.back().step == 10.0 * i);
    REQUIRE(points.front().step == 10);
    for (std::size_t k = 2; k + 1 < points.size(); ++k)
      REQUIRE(points[k].step - points[k - 1].step == points[1].step - points[0].step);
  }
  CHECK(curve.validations() == 1000);
  CHECK(curve.points().size() > 60);
}

TEST_CASE("a learning curve restored from its state goes on as if it had not been away") {
  LearningCurve whole(false);
  for (int i = 1; i <= 400; ++i) {
    LearningCurve resumed(false);
    resumed.restore(parse_json(to_json(whole.state()), "state"));
    const double value = std::sin(i);
    resumed.add(i, value);
    whole.add(i, value);
    REQUIRE(resumed.state() == whole.state());
  }
  whole.restore({});
  CHECK(whole.validations() == 0);
}

}  // namespace trainlab::learning_curve_test

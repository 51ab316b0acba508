#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "compare/training.h"

namespace trainlab::training_test {

using namespace trainlab::compare;
using Catch::Matchers::WithinAbs;

namespace {

const Target accuracy{.metric = "val.accuracy", .value = 0.9, .minimize = false};

}  // namespace

TEST_CASE("a training arrives between the validation before and the first that has reached the target") {
  const std::vector<Point> rows{{1, 0.5}, {2, 0.8}, {3, 1.0}, {4, 0.7}};
  const Training reached = training(rows, accuracy);
  CHECK_THAT(reached.arrival.value(), WithinAbs(2.5, 1e-12));
  CHECK_FALSE(reached.is_first);
  CHECK(reached.best == 1.0);
  CHECK(reached.value == 0.7);
  CHECK(reached.seconds == 4);
  CHECK(reached.watched == 4);
  CHECK_THAT(training(rows, {"val.accuracy", 0.8, false}).arrival.value(), WithinAbs(2, 1e-12));
}

TEST_CASE("of a loss smaller is better") {
  const std::vector<Point> rows{{1, 2.0}, {3, 1.0}, {4, 1.5}};
  const Training reached = training(rows, {"val.loss", 1.5, true});
  CHECK_THAT(reached.arrival.value(), WithinAbs(2, 1e-12));
  CHECK(reached.best == 1.0);
  CHECK_THAT(best_within(rows, 2.9, true).value(), WithinAbs(1.05, 1e-12));  // on the way from 2 at 1 s to 1 at 3 s
  CHECK(best_within(rows, 4, true) == 1.0);
  CHECK_FALSE(best_within(rows, 0.5, true).has_value());
}

TEST_CASE("the best value at a moment lies on the way to the next validation that is better") {
  const std::vector<Point> rows{{1, 0.5}, {2, 0.7}, {3, NAN}, {4, 0.6}, {6, 0.9}};
  CHECK_THAT(best_within(rows, 1.5, false).value(), WithinAbs(0.6, 1e-12));
  CHECK(best_within(rows, 3.5, false) == 0.7);  // the next one is worse
  CHECK_THAT(best_within(rows, 5, false).value(), WithinAbs(0.8, 1e-12));
  CHECK(best_within(rows, 6, false) == 0.9);
  CHECK(best_within(rows, 60, false) == 0.9);
}

TEST_CASE("a target that the first validation has reached is told") {
  const Training reached = training(std::vector<Point>{{1, 0.95}, {2, 0.99}}, accuracy);
  CHECK(reached.arrival == 1);
  CHECK(reached.is_first);
}

TEST_CASE("a training that never arrives has no arrival, and values that are no numbers count for nothing") {
  const std::vector<Point> rows{{1, NAN}, {2, 0.5}, {3, NAN}, {4, 0.6}, {5, NAN}};
  const Training missed = training(rows, accuracy);
  CHECK_FALSE(missed.arrival.has_value());
  CHECK(missed.best == 0.6);
  CHECK(missed.value == 0.6);
  CHECK(missed.seconds == 5);
  CHECK(missed.watched == 4);  // the last validation has no value
  const Training reached = training(rows, {"val.accuracy", 0.55, false});
  CHECK_THAT(reached.arrival.value(), WithinAbs(3, 1e-12));  // from 0.5 at 2 s to 0.6 at 4 s
}

TEST_CASE("a training without rows") {
  const Training none = training({}, accuracy);
  CHECK_FALSE(none.arrival.has_value());
  CHECK_FALSE(none.value.has_value());
  CHECK(std::isnan(none.best));
}

TEST_CASE("a more frequent validation moves the arrival of a straight curve by nothing") {
  for (const int count : {3, 10, 97}) {
    std::vector<Point> rows;
    for (int i = 1; i <= count; ++i) rows.push_back({10.0 * i / count, 1.0 * i / count});
    CHECK_THAT(training(rows, accuracy).arrival.value(), WithinAbs(9, 1e-9));
  }
}

TEST_CASE("beside a training that validates less often some validations do not count") {
  const std::vector<Point> often{{1, 0.5, 100}, {2, 0.91, 200}, {3, 0.6, 300},
                                 {4, 0.7, 400}, {5, 0.8, 500},  {6, 1, 550}};
  const double apart = samples_apart(std::vector<Point>{{3, 0.6, 300}, {5, 0.8, 600}, {6, 0.8, 620}});
  CHECK(apart == 300);  // the last distance is another one
  const std::vector<Point> some = counted(often, apart);
  REQUIRE(some.size() == 2);
  CHECK(some[0].samples == 300);
  CHECK(some[1].samples == 550);  // the last counts always
  CHECK(counted(often, 140).size() == often.size());
  CHECK(counted(often, NAN).size() == often.size());
  CHECK(counted({}, 300).empty());
  CHECK(std::isnan(samples_apart({})));
}

TEST_CASE("a training that has failed has reached nothing") {
  Training one = training(std::vector<Point>{{1, 0.95}, {2, 0.99}}, accuracy);
  one.fail();
  CHECK(one.has_failed);
  CHECK_FALSE(one.arrival.has_value());
  CHECK_FALSE(one.is_first);
  CHECK_FALSE(one.value.has_value());
}

TEST_CASE("a training survives a file") {
  Training one = training(std::vector<Point>{{1, 0.5, 10}, {2, 1.0, 20}}, accuracy);
  one.has_failed = true;
  one.apart = 10;
  const Training same = Training::from_value(parse_json(to_json(one.to_value()), "test"));
  CHECK(same.arrival == one.arrival);
  CHECK(same.seconds == one.seconds);
  CHECK(same.watched == 2);
  CHECK(same.value == one.value);
  CHECK(same.best == one.best);
  CHECK(same.apart == 10);
  CHECK(same.has_failed);
  CHECK_FALSE(same.is_first);
  const Training none = Training::from_value(parse_json(to_json(training({}, accuracy).to_value()), "test"));
  CHECK_FALSE(none.arrival.has_value());
  CHECK(std::isnan(none.best));
  Value other = training({}, accuracy).to_value();
  other.set("is_first", true);
  CHECK_FALSE(Training::from_value(other).is_first);  // without an arrival
  // Earlier versions did not store for how long a training was watched.
  Value earlier = one.to_value();
  earlier.map().erase("watched");
  earlier.set("seconds", 7);
  CHECK(Training::from_value(earlier).watched == 7);
}

}  // namespace trainlab::training_test

#include "forecast/efficiency.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

namespace trainlab::efficiency_test {

namespace {

LearningCurve curve_of(std::int64_t validations, const std::function<double(double)>& value, bool minimize = true) {
  LearningCurve curve(minimize);
  for (std::int64_t i = 1; i <= validations; ++i)
    curve.add(10.0 * static_cast<double>(i), value(static_cast<double>(i) / static_cast<double>(validations)));
  return curve;
}

Value flags_of(const EndedTraining& training) { return to_value(efficiency_of(training))["flags"]; }

const Value none = Value::List{}, compute = Value::List{"compute_inefficient"}, data = Value::List{"data_inefficient"};

}  // namespace

TEST_CASE("steps after the weights that are kept have bought nothing") {
  const LearningCurve curve = curve_of(20, [](double t) { return std::abs(t - 0.5); });
  EndedTraining training{.curve = curve, .steps = 200, .best_step = 100};
  CHECK(efficiency_of(training).compute_share == 0.5);
  CHECK(flags_of(training) == compute);
  training.best_step = 170;
  CHECK(flags_of(training) == compute);
  // The value may have been reached at any step before the next validation.
  training.best_step = 180;
  CHECK(efficiency_of(training).compute_share == 0.9);
  CHECK(flags_of(training) == none);
  training.best_step = 190;
  CHECK(efficiency_of(training).compute_share == 0.95);
  CHECK(flags_of(training) == none);

  SECTION("too few validations do not tell a tenth of the steps") {
    const LearningCurve few = curve_of(9, [](double t) { return t; });
    const Efficiency unknown = efficiency_of({.curve = few, .steps = 90, .best_step = 10});
    CHECK_FALSE(unknown.compute_share);
    CHECK_FALSE(unknown.is_compute_inefficient);
    CHECK(to_value(unknown)["compute_share"].is_nil());
  }
}

TEST_CASE("last weights are as good as an earlier part of the training was on average") {
  // Down to 1 at a fifth, and flat from there: the mean over a tenth is 1 for the first time at three tenths.
  const auto flat = [](double t) { return std::max(1.0, 2 - 5 * t); };
  const LearningCurve stalled = curve_of(100, flat);
  CHECK(efficiency_of({.curve = stalled, .steps = 1000}).compute_share == Approx(0.29).margin(0.011));
  CHECK(flags_of({.curve = stalled, .steps = 1000}) == compute);
  // The same turned round, for a metric that is to be large.
  const LearningCurve large = curve_of(
      100, [&](double t) { return -flat(t); }, false);
  CHECK(efficiency_of({.curve = large, .steps = 1000}).compute_share == Approx(0.29).margin(0.011));
  // A curve that falls to its end has wasted nothing, and one that has turned has wasted what it lost.
  CHECK(efficiency_of({.curve = curve_of(100, [](double t) { return 1 / t; }), .steps = 1000}).compute_share == 1);
  const LearningCurve turned = curve_of(100, [](double t) { return std::abs(t - 0.5); });
  CHECK(*efficiency_of({.curve = turned, .steps = 1000}).compute_share < 0.2);
  CHECK_FALSE(efficiency_of({.curve = curve_of(19, flat), .steps = 190}).compute_share);
}

TEST_CASE("repeated data are wasted where a training knows them by heart") {
  const LearningCurve curve = curve_of(20, [](double t) { return 2 - t; });
  EndedTraining training{.curve = curve,
                         .steps = 200,
                         .best_step = 200,
                         .passes = 20,
                         .repeats_data = true,
                         .train_loss = 0.1,
                         .val_loss = 0.4};
  CHECK(efficiency_of(training).loss_ratio == 0.25);
  CHECK(flags_of(training) == data);
  SECTION("not in the first passes") {
    training.passes = 4;
    CHECK(flags_of(training) == none);
  }
  SECTION("not where data differ in each pass") {
    training.repeats_data = false;
    CHECK(flags_of(training) == none);
  }
  SECTION("not where a repeat is as good as new data") {
    training.train_loss = 0.39;
    CHECK(flags_of(training) == none);
  }
  SECTION("not where a loss is unknown, or no number to compare") {
    for (const std::optional<double> loss :
         {std::optional<double>(), std::optional(std::nan("")), std::optional(-1.0)}) {
      training.train_loss = loss;
      CHECK(flags_of(training) == none);
      CHECK(to_value(efficiency_of(training))["loss_ratio"].is_nil());
    }
  }
}

}  // namespace trainlab::efficiency_test

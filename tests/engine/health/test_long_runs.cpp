// The rules of health for the course of a run, on runs with more validations than rows are kept of them.
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "healthy_run.h"

namespace trainlab::long_runs_test {

using namespace test;

namespace {

constexpr int steps_between = 20;  // from one validation to the next

using Loss = std::function<double(double step)>;

// `early`: the step of a validation before the first regular one; 0: there is none.
HealthFigures after(int validations, const Loss& train, const Loss& val, int early = 0) {
  const int steps = steps_between * validations;
  HealthFigures figures = healthy_facts(steps);
  for (int step = 1; step <= steps; ++step) {
    figures.losses.add(train(step));
    if (step % 500 == 1) {
      figures.add(MeasuredStep{.step = step - 1.0,
                               .rate = 0.01,
                               .median_update = 8e-3,
                               .gradient_norm = 1,
                               .slope_before = 1,
                               .slope_after = 0.4});
    }
    if (step % steps_between == 0 || step == early) {
      figures.add(
          MeasuredEvaluation{.step = static_cast<double>(step), .train_loss = train(step), .val_loss = val(step)});
    }
  }
  return figures;
}

// Noise from −1 to 1 that depends on the step alone.
double noise(double step) {
  const double x = 43758.5453 * std::sin(12.9898 * step);
  return 2 * (x - std::floor(x)) - 1;
}

}  // namespace

TEST_CASE("a power law that still falls is no plateau, however many validations there are") {
  const Loss falling = [](double step) { return 0.2 + 2.1 * std::pow(step, -0.15); };
  for (const int validations : {500, 600, 1'000, 2'000, 3'000, 10'000}) {
    INFO(validations);
    std::string kinds;
    for (const HealthVerdict& verdict : judge(after(validations, falling, falling))) kinds += name_of(verdict.kind);
    CHECK(kinds == "");
  }
}

TEST_CASE("a plateau is seen in long runs too, and its evidence is of the middle of the run") {
  const int validations = 3'000;
  // Falls by 0.002 in the second half.
  const auto fall = [=](double step) {
    return 1.1 * std::exp(-step / 2'000) - 4e-3 * step / steps_between / validations;
  };
  const std::vector<HealthVerdict> found = judge(after(
      validations, [&](double step) { return 1 + fall(step); },
      [&](double step) { return 1.2 + fall(step) + 0.002 * noise(step); }));
  REQUIRE(found.size() == 1);
  CHECK(found.front().kind == HealthKind::plateau);
  CHECK_THAT(found.front().evidence, Catch::StartsWith("the validation loss was 1.198 around the middle of the run"));
}

TEST_CASE("overfitting that begins in the first half of a long run is told with the step of the best loss") {
  const int validations = 3'000;
  const double best = 0.3 * steps_between * validations;
  const Loss turning = [=](double step) {
    const double away = (step - best) / best;
    return 0.5 + (away < 0 ? 1.5 : 0.2) * away * away + 0.01 * noise(step);
  };
  const std::vector<HealthVerdict> found = judge(after(
      validations, [](double step) { return 0.1 + 2 / std::sqrt(step); }, turning));
  REQUIRE(found.size() == 1);
  CHECK(found.front().kind == HealthKind::overfitting);
  const std::string& evidence = found.front().evidence;
  const std::string mark = "at step ";
  REQUIRE_THAT(evidence, Catch::Contains(mark));
  CHECK(std::stod(evidence.substr(evidence.find(mark) + mark.size())) == Approx(best).epsilon(0.2));
}

TEST_CASE("a validation before the first regular one hides neither overfitting nor a plateau") {
  const Loss train = [](double step) { return 0.1 + 2 / std::sqrt(step); };
  const Loss turning = [](double step) { return 0.5 + std::abs(step - 300) / 1'000 + 0.01 * noise(step); };
  const Loss settled = [](double step) { return 1.2 + std::exp(-step / 200) + 0.002 * noise(step); };
  for (const int early : {0, 1, 13}) {
    INFO(early);
    const std::vector<HealthVerdict> rising = judge(after(60, train, turning, early));
    REQUIRE(rising.size() == 1);
    CHECK(rising.front().kind == HealthKind::overfitting);
    const std::vector<HealthVerdict> still = judge(after(200, settled, settled, early));
    REQUIRE(still.size() == 1);
    CHECK(still.front().kind == HealthKind::plateau);
  }
}

TEST_CASE("overfitting of a long run is taken back when the loss falls below its best from before") {
  // The best of the first half is 0.5, at 3,000 steps; the loss rises to 0.9 and falls to 0.3 at the end, 40,000.
  const Loss turning = [](double step) {
    const double level = step < 3'000    ? 2 - step / 2'000
                         : step < 20'000 ? 0.5 + 0.4 * (step - 3'000) / 17'000
                                         : 0.9 - 0.6 * (step - 20'000) / 20'000;
    return level + 0.01 * noise(step);
  };
  const Loss train = [](double step) { return 0.1 + 2 / std::sqrt(step); };
  std::vector<HealthVerdict> told;
  add_verdicts(told, judge(after(1'000, train, turning)));
  REQUIRE(told.size() == 1);
  REQUIRE(told.front().kind == HealthKind::overfitting);
  CHECK(take_back(told, after(1'200, train, turning)).empty());
  CHECK(take_back(told, after(2'000, train, turning)).size() == 1);
  CHECK(told.empty());
}

}  // namespace trainlab::long_runs_test

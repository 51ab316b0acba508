// The rules of health for the learning rate and the noise of the gradients.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "healthy_run.h"

namespace trainlab::rate_rules_test {

using namespace test;

namespace {

HealthyRun too_slow() {
  HealthyRun run;
  run.update = 1e-5;
  run.loss = [](int i) { return 2.31 - 1e-5 * i; };
  run.val = run.loss;
  return run;
}

HealthyRun too_fast(double update) {
  HealthyRun run;
  run.update = update;
  run.loss = [](int i) { return i < 3 ? 2.3 : 4 + std::sin(i); };
  run.val = run.loss;
  return run;
}

}  // namespace

TEST_CASE("a rule of a part of the run waits where nobody knows how long the run is") {
  const auto unknown = [](HealthFigures& f) { f.run.total_steps = 0; };
  CHECK(kinds_of(changed(too_slow(), unknown)).empty());
  CHECK(kinds_of(changed(too_fast(0.3), unknown)) == Kinds{"rate_too_high"});  // the loss has risen
  const auto longer = [](HealthFigures& f) { f.run.total_steps = 10 * HealthyRun::steps; };
  CHECK(kinds_of(changed(too_slow(), longer)).empty());
}

TEST_CASE("a rate is no longer too high when the training has learnt all the same") {
  const auto at = [](int done, double low) {
    HealthyRun run;
    run.update = 0.05;
    run.loss = [low](int i) { return i < 12 ? 2.3 + 0.2 * i : low + 4 * std::exp(-(i - 12) / 20.0); };
    run.done = done;
    return run.figures();
  };
  std::vector<HealthVerdict> told;
  REQUIRE(add_verdicts(told, judge(at(40, 0.1))).size() == 1);
  REQUIRE(told.front().kind == HealthKind::rate_too_high);
  CHECK(take_back(told, at(60, 0.1)).empty());
  CHECK(take_back(told, at(400, 0.5)).empty());  // a fifth of the loss at the beginning is left
  const std::vector<std::string> lines = take_back(told, at(400, 0.1));
  REQUIRE(lines.size() == 1);
  CHECK(lines.front() == "health: rate_too_high is taken back after 400 steps: the loss has fallen from 2.3 to 0.1");
  CHECK(told.empty());
}

TEST_CASE("each fault of the rate or of the gradients has its own verdict") {
  SECTION("a loss that is not finite while the rate is right") {
    const auto figures = changed(HealthyRun{}, [](HealthFigures& f) {
      f.not_finite = NotFinite{.step = 30, .origin = "layer", .path = "model[3].Module", .text = "3 of 640 outputs"};
    });
    CHECK(kinds_of(figures) == Kinds{"not_finite"});
    CHECK_THAT(judge(figures).front().evidence, Catch::Contains("model[3].Module"));
    CHECK(judge(figures).front().step == 30);
  }
  SECTION("a rate that is too high") {
    const HealthyRun run = too_fast(0.3);
    CHECK(kinds_of(run.figures()) == Kinds{"rate_too_high"});
    // Weights that are lost, and units that have died, are symptoms.
    CHECK(kinds_of(changed(run, [](HealthFigures& f) {
            f.not_finite = NotFinite{.step = 90, .origin = "weights", .path = "model[1].Linear", .text = "weights"};
            f.units.front().dead = 1;
          })) == Kinds{"rate_too_high"});
  }
  SECTION("a rate that is too low") {
    const HealthFigures figures = too_slow().figures();
    CHECK(kinds_of(figures) == Kinds{"rate_too_low"});
    CHECK_THAT(judge(figures).front().remedy, Catch::Contains("lr = 5 in place of 0.01"));
  }
  SECTION("a loss that falls evenly along gradients that hardly change is short of steps where updates are usual") {
    HealthyRun run;
    run.loss = [](int i) { return 2.3 - 1.5 * i / HealthyRun::steps; };
    run.val = run.loss;
    const auto kinds_with = [&](double update) {
      run.update = update;
      return kinds_of(changed(run, [](HealthFigures& f) {
        for (MeasuredStep& row : f.measured) row.slope_after = 0.9 * row.slope_before;
      }));
    };
    CHECK(kinds_with(4e-3) == Kinds{"rate_too_low"});
    CHECK(kinds_with(6e-3).empty());
  }
  SECTION("a rate that is too low after a fix: steps are those of the whole run") {
    const HealthFigures figures = changed(too_slow(), [](HealthFigures& f) {
      f.first_step = 100;
      f.run.total_steps += 100;
    });
    REQUIRE(kinds_of(figures) == Kinds{"rate_too_low"});
    CHECK(judge(figures).front().step == HealthyRun::steps + 100);
    CHECK(judge(figures).front().cure->good_until == HealthyRun::steps + 100);
  }
  SECTION("gradients that are noise") {
    HealthyRun run;
    run.loss = [](int i) { return 2.303 + 0.05 * std::sin(1.3 * i); };
    run.val = run.loss;
    CHECK(kinds_of(changed(run, [](HealthFigures& f) {
            for (MeasuredStep& row : f.measured) row.product = 5e-3, row.slope_after = -0.05;
          })) == Kinds{"noisy_gradients"});
    // Small updates are no rate that is too low where only noise is in them, as long as they add up to something.
    const auto noisy = [&](double update) {
      run.update = update;
      return kinds_of(changed(run, [](HealthFigures& f) {
        for (MeasuredStep& row : f.measured) row.product = 0.19, row.slope_after = -0.1;
      }));
    };
    CHECK(noisy(0.6 / HealthyRun::steps) == Kinds{"noisy_gradients"});
    CHECK(noisy(0.4 / HealthyRun::steps) == Kinds{"rate_too_low"});
    // A loss that falls evenly meanwhile is no sign of such a rate.
    run.loss = [](int i) { return 2.3 - 1.5 * i / HealthyRun::steps; };
    run.val = run.loss;
    CHECK(noisy(0.4 / HealthyRun::steps).empty());
    CHECK(noisy(0.05 / HealthyRun::steps) == Kinds{"rate_too_low"});
  }
}

TEST_CASE("the advice on a rate names the place at which the recipe sets this rate") {
  const HealthyRun low = too_slow(), high = too_fast(0.05);
  const auto remedy = [](const HealthyRun& run, auto&& change) {
    const std::vector<HealthVerdict> found = judge(changed(run, change));
    REQUIRE(found.size() == 1);
    return found.front().remedy;
  };
  const auto set = [](HealthFigures& f) {
    f.set_rate = 0.01;
    f.set_at = "r.lua:16";
  };
  CHECK(remedy(low, set) == "a rate of 5 in place of 0.01, which r.lua:16 sets");
  CHECK(remedy(high, set) == "a rate of 0.001 in place of 0.01, which r.lua:16 sets");
  CHECK(remedy(high, [](HealthFigures& f) { f.set_rate = 0.01; }) ==
        "a rate of 0.001 in place of 0.01, which run:set_lr sets");
  CHECK(remedy(low, [](HealthFigures& f) { f.set_rate = 0, f.set_at = "r.lua:16"; }) ==
        "a rate above 0, which r.lua:16 sets to 0");
  // A schedule multiplies the option: the advice is about the option, whatever the factor is.
  CHECK(remedy(low, [](HealthFigures& f) { f.run.lr = 1; }) == "lr = 5e+02 in place of 1");
  CHECK_THAT(remedy(high,
                    [](HealthFigures& f) {
                      f.run.lr = 1;
                      f.measured.front().rate = 0.02;
                    }),
             Catch::StartsWith("lr = 0.1 in place of 1, with a warm-up"));
  CHECK_THAT(remedy(high, [](HealthFigures& f) { f.run.lr = 1; }), Catch::StartsWith("lr = 0.001 in place of 1, "));
}

TEST_CASE(
    "the advice on a rate that is far too high is no more than a usual rate, and names the search for a good one") {
  const auto verdict = [](double lr, double update, auto&& change) {
    const std::vector<HealthVerdict> found = judge(changed(too_fast(update), [&](HealthFigures& f) {
      f.run.lr = lr;
      f.run.largest_lr = 1;
      for (MeasuredStep& row : f.measured) row.rate = lr;
      change(f);
    }));
    REQUIRE(found.size() == 1);
    return found.front();
  };
  const auto nothing = [](HealthFigures&) {};
  for (const double lr : {1e6, 1e4}) {
    for (const double update : {1e5, std::numeric_limits<double>::infinity()}) {
      const HealthVerdict far = verdict(lr, update, nothing);
      CHECK_THAT(far.remedy, Catch::StartsWith("lr = 1 in place of 1e+0") && Catch::Contains("trainlab find lr"));
      CHECK(far.cure->value == Value(1.0));
    }
  }
  // Weights that have grown make later updates look small.
  const HealthVerdict grown = verdict(1e6, 0.05, [](HealthFigures& f) { f.measured.front().median_update = 1e4; });
  CHECK(grown.cure->value == Value(1.0));
  // Updates do not tell of the rate of an optimizer that finds their size.
  const auto own_size = [](HealthFigures& f) { f.run.finds_step_size = true; };
  CHECK(verdict(300, 0.05, own_size).cure->value == Value(1.0));
  CHECK(verdict(1, 0.05, own_size).cure->value == Value(0.1));
  // Below the usual rates the rate falls all the same.
  CHECK(verdict(1, 1e5, nothing).cure->value == Value(1e-3));
  CHECK(verdict(1e6, 1e5, [](HealthFigures& f) {
          f.set_rate = 1e6;
          f.set_at = "r.lua:16";
        }).remedy.starts_with("a rate of 1 in place of 1e+06, which r.lua:16 sets; how far to go is a guess"));
  // A rate above the usual ones whose updates tell how far to go.
  const HealthVerdict told = verdict(100, 0.05, nothing);
  CHECK_THAT(told.remedy, Catch::StartsWith("lr = 10 in place of 100") && !Catch::Contains("find lr"));
}

TEST_CASE("a rate that is too low rises to a usual rate at most") {
  const auto verdict = [](double lr, bool finds_step_size = false) {
    const std::vector<HealthVerdict> found = judge(changed(too_slow(), [&](HealthFigures& f) {
      f.run.lr = lr;
      f.run.largest_lr = 1;
      f.run.finds_step_size = finds_step_size;
    }));
    REQUIRE(found.size() == 1);
    CHECK(found.front().kind == HealthKind::rate_too_low);
    return found.front();
  };
  CHECK(verdict(1e-4).cure->value == Value(0.05));
  CHECK(verdict(0.01).cure->value == Value(1.0));
  CHECK(verdict(0.01).remedy == "lr = 1 in place of 0.01");
  const HealthVerdict large = verdict(1);
  CHECK_FALSE(large.cure);
  CHECK_THAT(large.remedy, Catch::Contains("a rate of 1 is as large") && Catch::Contains("trainlab find lr"));
  // The option lr is no rate where the optimizer finds the size of its steps.
  const HealthVerdict own_size = verdict(1, true);
  CHECK_FALSE(own_size.cure);
  CHECK_THAT(own_size.remedy, Catch::Contains("d0 = 1e-5") && !Catch::Contains("lr = "));
}

TEST_CASE("the evidence leaves out an update that was not measured") {
  HealthyRun slow;
  slow.loss = [](int i) { return 2.303 - 1e-5 * i; };
  slow.val = slow.loss;
  const std::vector<HealthVerdict> found = judge(changed(slow, [](HealthFigures& f) {
    for (MeasuredStep& row : f.measured) {
      row.least_update = row.median_update = unmeasured;
      row.slope_after = 0.99;
    }
  }));
  REQUIRE(found.size() == 1);
  CHECK(found.front().kind == HealthKind::rate_too_low);
  CHECK_THAT(found.front().evidence, Catch::StartsWith("an update changes 1 % of the slope, and the loss went from "));
}

TEST_CASE("the advice on a batch counts the batches of a step") {
  HealthyRun run;
  run.loss = [](int i) { return 2.303 + 0.05 * std::sin(1.3 * i); };
  run.val = run.loss;
  const std::vector<HealthVerdict> found = judge(changed(run, [](HealthFigures& f) {
    f.run.accumulate = 4;
    for (MeasuredStep& row : f.measured) row.product = 5e-3, row.slope_after = -0.05;
  }));
  REQUIRE(found.size() == 1);
  CHECK(found.front().remedy == "accumulate = 256, or a batch 64 times larger");
}

}  // namespace trainlab::rate_rules_test

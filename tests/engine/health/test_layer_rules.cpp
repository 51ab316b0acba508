// The rules of health for initial weights and layers.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>

#include "healthy_run.h"

namespace trainlab::layer_rules_test {

using namespace test;

TEST_CASE("a loss that does not depend on the weights has no gradients that vanish or explode along the layers") {
  HealthyRun dead;
  dead.update = 0;
  dead.loss = [](int) { return ten_classes; };
  dead.val = dead.loss;
  const HealthFigures figures = changed(dead, [](HealthFigures& f) {
    for (MeasuredStep& row : f.measured) row.gradient_norm = row.square = row.product = 0;
    f.measured.front().gradient_norm = 1;
  });
  REQUIRE(kinds_of(figures) == Kinds{"vanishing_gradients"});
  CHECK(judge(figures).front().evidence ==
        "the gradients of all weights are 0, and the loss is 2.3: it does not depend on them");
}

TEST_CASE("each fault of the initial weights or of a layer has its own verdict") {
  SECTION("outputs that are far too large at the beginning") {
    HealthyRun run;
    run.loss = [](int i) { return 40 * std::exp(-i / 40.0) + 0.4; };
    run.val = run.loss;
    CHECK(kinds_of(run.figures()) == Kinds{"exploding_gradients"});
  }
  SECTION("layers that pass nothing on") {
    HealthyRun run;
    run.loss = [](int) { return 2.303; };
    run.val = run.loss;
    CHECK(kinds_of(changed(run, [](HealthFigures& f) {
            for (MeasuredStep& row : f.measured) row.gradient_ratio = 1e-4, row.least_update = 1e-6;
          })) == Kinds{"vanishing_gradients"});
  }
  SECTION("units that are dead from the beginning") {
    HealthyRun run;
    run.update = 1e-4;
    run.loss = [](int) { return 2.303; };
    run.val = run.loss;
    const auto figures =
        changed(run, [](HealthFigures& f) { f.units.front().dead_at_start = f.units.front().dead = 1; });
    CHECK(kinds_of(figures) == Kinds{"dead_units"});
    CHECK_THAT(judge(figures).front().evidence, Catch::Contains("model[2].ReLU"));
    // Where the figures begin after a fix, they say nothing about the initial weights.
    CHECK(kinds_of(changed(HealthyRun{}, [](HealthFigures& f) {
            f.first_step = 100;
            f.units.front().dead_at_start = 1;
          })).empty());
  }
  SECTION("units at the limit of their function") {
    CHECK(kinds_of(changed(HealthyRun{}, [](HealthFigures& f) {
            f.units.front() = {.path = "model[2].Tanh", .kind = "Tanh", .saturated_at_start = 0.9, .saturated = 0.9};
          })) == Kinds{"saturated_units"});
  }
  SECTION("statistics of two values") {
    const auto figures = changed(HealthyRun{}, [](HealthFigures& f) {
      f.run.batch = 2;
      f.norms.front().values = 2;
    });
    CHECK(kinds_of(figures) == Kinds{"small_batch_statistics"});
    CHECK_THAT(judge(figures).front().remedy, Catch::Contains("batch = 32"));
  }
}

TEST_CASE("the loss of single samples is no sign of initial weights that are too large") {
  HealthyRun run;
  run.val = [](int i) { return 0.15 + 0.55 * std::exp(-i / 60.0); };
  const auto of_two_classes = [&](std::int64_t batch) {
    return kinds_of(changed(run, [&](HealthFigures& f) {
      f.run.batch = batch;
      f.run.classes = 2;
      f.run.entropy = f.run.prior_loss = std::log(2.0);
      f.run.largest_share = 0.5;
    }));
  };
  run.loss = [](int i) { return i == 0 ? 1.6 : 0.1 + 0.6 * std::exp(-i / 60.0); };
  CHECK(of_two_classes(1).empty());
  CHECK(of_two_classes(4).empty());
  CHECK(of_two_classes(16) == Kinds{"exploding_gradients"});
  run.loss = [](int i) { return 0.4 + 8 * std::exp(-i / 40.0); };
  CHECK(of_two_classes(1) == Kinds{"exploding_gradients"});
  // A rate that is too high shows after the first step.
  run.update = 0.3;
  run.loss = [](int i) { return i == 0 ? 0.7 : 4 + std::sin(i); };
  run.val = run.loss;
  CHECK(of_two_classes(1) == Kinds{"rate_too_high"});
}

}  // namespace trainlab::layer_rules_test

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
            for (MeasuredStep& row : f.measured) row.least_gradient = 1e-4, row.least_update = 1e-6;
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
    // No rate helps against units that are dead in weights from another training.
    const auto trained = changed(run, [](HealthFigures& f) {
      f.units.front().dead_at_start = f.units.front().dead = 1;
      f.run.begins_trained = true;
    });
    CHECK(kinds_of(trained) == Kinds{"dead_units"});
    CHECK_THAT(judge(trained).front().remedy, Catch::Contains("from initial weights"));
    CHECK_FALSE(judge(trained).front().cure);
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

TEST_CASE("a layer in the middle whose gradients vanish is found and named") {
  const auto spoiled = [](int done) {
    HealthyRun run;
    run.done = done;
    return changed(run, [](HealthFigures& f) {
      for (MeasuredStep& row : f.measured) row.least_at = 1, row.least_gradient = 2e-3, row.least_update = 4e-5;
    });
  };
  const HealthFigures figures = spoiled(HealthyRun::steps);
  REQUIRE(kinds_of(figures) == Kinds{"vanishing_gradients"});
  CHECK(judge(figures).front().evidence ==
        "the gradient of model.4.weight is 0.002 times that of the last weight, and its updates are 4e-05 of it");
  // Until the middle of the run such a layer may still begin to learn.
  CHECK(kinds_of(spoiled(HealthyRun::steps / 4)).empty());
  // Nor is it a fault where the optimizer makes up for the small gradients.
  CHECK(kinds_of(changed(HealthyRun{}, [](HealthFigures& f) {
          for (MeasuredStep& row : f.measured) row.least_at = 1, row.least_gradient = 2e-3;
        })).empty());
}

TEST_CASE("a layer whose gradients vanish from the first step on is found though an adaptive rate changes it") {
  const auto run_with = [](double at_first, double loss) {
    HealthyRun run;
    run.loss = [loss](int) { return loss; };
    run.val = run.loss;
    return changed(run, [at_first](HealthFigures& f) {
      for (MeasuredStep& row : f.measured) row.least_at = 0, row.least_gradient = 2e-3, row.least_update = 0.02;
      f.measured.front().least_gradient = at_first;
    });
  };
  const HealthFigures figures = run_with(5e-4, ten_classes);
  REQUIRE(kinds_of(figures) == Kinds{"vanishing_gradients"});
  CHECK_THAT(judge(figures).front().evidence, Catch::EndsWith("that of the last weight, and nothing is learnt"));
  CHECK(kinds_of(run_with(5e-3, ten_classes)) != Kinds{"vanishing_gradients"});
  CHECK(kinds_of(run_with(0, ten_classes)) != Kinds{"vanishing_gradients"});  // dead units
  CHECK(kinds_of(run_with(5e-4, 1)) != Kinds{"vanishing_gradients"});         // it learns
  // Functions that come to their limits later are a symptom.
  HealthFigures saturated = figures;
  saturated.units = {{.path = "model[2].Tanh", .kind = "Tanh", .saturated_at_start = 0, .saturated = 1}};
  CHECK(kinds_of(saturated) == Kinds{"vanishing_gradients"});
}

TEST_CASE("a rate so low that no layer changes is not called vanishing gradients") {
  const auto slow = [](double least_update) {
    HealthyRun run;
    run.update = 2e-4;
    run.loss = [](int i) { return 2.3 - 1.0 * i / HealthyRun::steps; };
    run.val = run.loss;
    return kinds_of(changed(run, [&](HealthFigures& f) {
      for (MeasuredStep& row : f.measured)
        row.least_at = 0, row.least_gradient = 0.028, row.least_update = least_update;
    }));
  };
  CHECK(slow(4e-4) == Kinds{"rate_too_low"});
  CHECK(slow(1e-5) == Kinds{"vanishing_gradients"});
}

TEST_CASE("the layers between which the spread of the outputs changes are named") {
  const auto with_spreads = [](double spread, const std::string& kind) {
    return changed(HealthyRun{}, [&](HealthFigures& f) {
      f.units = {{.path = "model[2].ReLU", .kind = "ReLU", .spread_at_start = 1},
                 {.path = "model[4].ReLU", .kind = kind, .spread_at_start = spread},
                 {.path = "model[6].ReLU", .kind = "ReLU", .spread_at_start = 0.8}};
      for (MeasuredStep& row : f.measured) row.least_update = 1e-4;
    });
  };
  const HealthFigures grown = with_spreads(30, "ReLU");
  REQUIRE(kinds_of(grown) == Kinds{"exploding_gradients"});
  CHECK(judge(grown).front().evidence ==
        "the outputs of model[4].ReLU spread 30 times as far as those of model[2].ReLU, at the beginning");
  const HealthFigures fallen = with_spreads(0.02, "ReLU");
  REQUIRE(kinds_of(fallen) == Kinds{"vanishing_gradients"});
  CHECK(judge(fallen).front().evidence ==
        "the outputs of model[4].ReLU spread 0.02 times as far as those of model[2].ReLU, at the beginning");
  CHECK(kinds_of(with_spreads(15, "ReLU")).empty());
  // Functions of another kind have outputs of another size.
  CHECK(kinds_of(with_spreads(0.02, "Sigmoid")).empty());
}

TEST_CASE("a gradient that is far above the usual one is told with the weight that it is in") {
  HealthyRun run;
  run.loss = [](int i) { return 2.1 + 0.01 * std::sin(i); };
  run.val = run.loss;
  const HealthFigures figures = changed(run, [](HealthFigures& f) {
    f.measured[7].gradient_norm = 300;
    f.measured[7].largest_at = 1;
  });
  REQUIRE(kinds_of(figures) == Kinds{"exploding_gradients"});
  CHECK(judge(figures).front().evidence ==
        "the norm of the gradients is 300 at most, most of it in model.4.weight, and 1 usually");
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

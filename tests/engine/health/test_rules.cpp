// The rules of health on stored figures: silence for healthy runs, and for each fault its own verdict and no other.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "health/verdict.h"

namespace trainlab::rules_test {

namespace {

constexpr int steps = 400;
const double ten_classes = std::log(10.0);

// The loss of step i of a run that learns.
double learning(int i) { return 0.2 + 2.1 * std::exp(-i / 60.0) + 0.05 * std::sin(1.7 * i); }

struct Run {
  std::function<double(int)> loss = learning;
  double update = 8e-3;
  std::function<double(int)> val = [](int i) { return 0.25 + 2.05 * std::exp(-i / 60.0) + 0.01 * std::cos(2.3 * i); };
  int done = steps;

  HealthFigures figures() const {
    HealthFigures figures;
    figures.run = {.total_steps = steps,
                   .batch = 50,
                   .lr = 0.01,
                   .classes = 10,
                   .entropy = ten_classes,
                   .largest_share = 0.11,
                   .prior_loss = ten_classes,
                   .is_never_negative = true,
                   .shared = 0,
                   .repeated = 0};
    figures.input = {.mean = 0.3, .deviation = 0.37, .root_mean_square = 0.48};
    for (int i = 0; i < done; ++i) {
      if (std::isfinite(loss(i))) figures.losses.add(loss(i));
      if (i % 20 == 0) {
        figures.add(MeasuredStep{.step = static_cast<double>(i),
                                 .rate = 0.01,
                                 .least_update = update / 2,
                                 .median_update = update,
                                 .gradient_norm = 1,
                                 .gradient_ratio = 0.8,
                                 .slope_before = 1,
                                 .slope_after = 0.4,
                                 .square = 1,
                                 .product = 0.3,
                                 .spread_ratio = 0.7,
                                 .top_share = 0.15});
      }
      if (i % 20 == 19)
        figures.add(MeasuredEvaluation{.step = static_cast<double>(i + 1), .train_loss = loss(i), .val_loss = val(i)});
    }
    figures.units = {{.path = "model[2].ReLU", .kind = "ReLU", .dead_at_start = 0.05, .dead = 0.1}};
    figures.norms = {{.path = "model[3].BatchNorm1d", .values = 50}};
    return figures;
  }
};

std::vector<std::string> kinds_of(const HealthFigures& figures) {
  std::vector<std::string> kinds;
  for (const HealthVerdict& verdict : judge(figures)) {
    kinds.emplace_back(name_of(verdict.kind));
    CHECK_FALSE(verdict.evidence.empty());
    CHECK_FALSE(verdict.remedy.empty());
    if (verdict.cure && verdict.cure->option == FixedOption::lr) {
      REQUIRE_THAT(verdict.remedy, Catch::StartsWith("lr = "));
      CHECK(std::stod(verdict.remedy.substr(5)) == verdict.cure->value.number());
    }
    CHECK((verdict.confidence == "high" || verdict.confidence == "medium" || verdict.confidence == "low"));
  }
  return kinds;
}

using Kinds = std::vector<std::string>;

template <class F>
HealthFigures changed(const Run& run, F&& change) {
  HealthFigures figures = run.figures();
  change(figures);
  return figures;
}

}  // namespace

TEST_CASE("all is well: no verdict, at any step of the run") {
  for (int done = 0; done <= steps; done += 10) {
    Run run;
    run.done = done;
    INFO(done);
    CHECK(kinds_of(run.figures()).empty());
  }
}

TEST_CASE("healthy runs of other kinds get no verdict") {
  Run noisy;  // labels of which a third is wrong: the loss stays high
  noisy.loss = [](int i) { return 1.2 + 1.1 * std::exp(-i / 50.0) + 0.1 * std::sin(2.9 * i); };
  noisy.val = [](int i) { return 0.6 + 1.7 * std::exp(-i / 50.0); };
  CHECK(kinds_of(noisy.figures()).empty());

  Run fine_tuned;  // small updates from weights that are good already
  fine_tuned.update = 5e-4;
  fine_tuned.loss = [](int i) { return 0.1 + 0.3 * std::exp(-i / 30.0); };
  fine_tuned.val = [](int i) { return 0.12 + 0.3 * std::exp(-i / 30.0); };
  CHECK(kinds_of(fine_tuned.figures()).empty());

  Run tuned_text;  // small updates of a trained language model, whose loss had fallen before
  tuned_text.update = 5e-4;
  tuned_text.loss = [](int i) { return 2.9 + 0.1 * std::exp(-i / 200.0); };
  tuned_text.val = [](int i) { return 2.95 + 0.1 * std::exp(-i / 200.0); };
  const auto of_text = [](bool begins_trained) {
    return [begins_trained](HealthFigures& figures) {
      figures.run.begins_trained = begins_trained;
      figures.run.classes = 0;
      figures.run.prior_loss = unmeasured;
    };
  };
  CHECK(kinds_of(changed(tuned_text, of_text(true))).empty());
  CHECK(kinds_of(changed(tuned_text, of_text(false))) == Kinds{"rate_too_low"});

  // A trained model with saturated and with sparse units, on data that it does not know yet.
  Run taken_over;
  taken_over.loss = [](int i) { return 0.3 + 4.5 * std::exp(-i / 40.0); };
  const auto trained_units = [](bool begins_trained) {
    return [begins_trained](HealthFigures& figures) {
      figures.run.begins_trained = begins_trained;
      figures.units.front().dead_at_start = 0.8;
    };
  };
  CHECK(kinds_of(changed(taken_over, trained_units(true))).empty());
  CHECK(kinds_of(changed(taken_over, trained_units(false))) == Kinds{"exploding_gradients"});

  Run negative;  // a loss of the recipe's own, which falls below 0
  negative.loss = [](int i) { return -1.0 - i / 100.0; };
  CHECK(kinds_of(changed(negative, [](HealthFigures& figures) {
          figures.run.prior_loss = unmeasured;
          figures.run.is_never_negative = false;
          figures.evaluations.clear();
        })).empty());
}

TEST_CASE("a fit of which nothing was measured gets no verdict") { CHECK(judge(HealthFigures{}).empty()); }

TEST_CASE("a loss that does not depend on the weights has no gradients that vanish or explode along the layers") {
  Run dead;
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

TEST_CASE("a validation loss certainly below the floor of the labels is a verdict of its own") {
  const auto with_floor = [](double low, std::int64_t samples) {
    return [=](HealthFigures& f) {
      f.run.floor = LabelFloor{.loss = low + 0.05, .low = low, .high = low + 0.1, .deviation = 0.8};
      f.run.validation_samples = samples;
    };
  };
  CHECK(kinds_of(changed(Run{}, with_floor(0.1, 10'000))).empty());
  CHECK(kinds_of(changed(Run{}, with_floor(0.4, 10'000))) == Kinds{"below_floor"});
  CHECK(kinds_of(changed(Run{}, with_floor(0.4, 100))).empty());  // 1.7 standard errors, as chance may have it
  CHECK(
      judge(changed(Run{}, with_floor(0.4, 10'000)))
          .front()
          .evidence.starts_with("the validation loss is 0.262, with a standard error of 0.008 for the labels of 10000 "
                                "samples, and no model comes below 0.4 to 0.5 on data "));
}

TEST_CASE("each fault has its own verdict") {
  SECTION("inputs that are too large, or far from 0") {
    CHECK(kinds_of(changed(Run{}, [](HealthFigures& f) {
            f.input = {.mean = 80, .deviation = 95, .root_mean_square = 124};
          })) == Kinds{"unnormalised_inputs"});
    CHECK(kinds_of(changed(Run{}, [](HealthFigures& f) {
            f.input = {.mean = 5, .deviation = 1, .root_mean_square = 5.1};
          })) == Kinds{"unnormalised_inputs"});
    CHECK(kinds_of(changed(Run{}, [](HealthFigures& f) {
            f.input = {.mean = 80, .deviation = 95, .root_mean_square = 124, .is_normalised = true};
          })).empty());
    const std::vector<HealthVerdict> constant =
        judge(changed(Run{}, [](HealthFigures& f) { f.input = {.mean = 0, .deviation = 0, .root_mean_square = 0}; }));
    REQUIRE(constant.size() == 1);
    CHECK(constant[0].evidence == "all inputs are 0");
    CHECK_THAT(constant[0].remedy, !Catch::Contains("normalize"));
  }
  SECTION("validation samples that are training samples too") {
    CHECK(kinds_of(changed(Run{}, [](HealthFigures& f) { f.run.shared = 0.3; })) == Kinds{"leakage"});
    CHECK(kinds_of(changed(Run{}, [](HealthFigures& f) { f.run.shared = f.run.repeated = 0.3; })).empty());
  }
  SECTION("labels of one class, or nearly") {
    CHECK(kinds_of(changed(Run{}, [](HealthFigures& f) {
            f.run.entropy = f.run.prior_loss = 0;
            f.run.largest_share = 1;
          })) == Kinds{"class_collapse"});
  }
  SECTION("a loss below its floor") {
    Run run;
    run.loss = [](int i) { return 0.5 - 0.1 * i; };
    CHECK(kinds_of(run.figures()) == Kinds{"below_floor"});
  }
  SECTION("NaN in the batch") {
    CHECK(kinds_of(changed(Run{}, [](HealthFigures& f) {
            f.not_finite = NotFinite{
                .step = 30, .origin = "input", .path = "model[1].Linear", .text = "3 of 640 values of the batch"};
          })) == Kinds{"not_finite"});
  }
  SECTION("a loss that is not finite while the rate is right") {
    const auto figures = changed(Run{}, [](HealthFigures& f) {
      f.not_finite = NotFinite{.step = 30, .origin = "layer", .path = "model[3].Module", .text = "3 of 640 outputs"};
    });
    CHECK(kinds_of(figures) == Kinds{"not_finite"});
    CHECK_THAT(judge(figures).front().evidence, Catch::Contains("model[3].Module"));
    CHECK(judge(figures).front().step == 30);
  }
  SECTION("a rate that is too high") {
    Run run;
    run.update = 0.3;
    run.loss = [](int i) { return i < 3 ? 2.3 : 4 + std::sin(i); };
    run.val = run.loss;
    CHECK(kinds_of(run.figures()) == Kinds{"rate_too_high"});
    // Weights that are lost, and units that have died, are symptoms.
    CHECK(kinds_of(changed(run, [](HealthFigures& f) {
            f.not_finite = NotFinite{.step = 90, .origin = "weights", .path = "model[1].Linear", .text = "weights"};
            f.units.front().dead = 1;
          })) == Kinds{"rate_too_high"});
  }
  SECTION("a rate that is too low") {
    Run run;
    run.update = 1e-5;
    run.loss = [](int i) { return 2.31 - 1e-5 * i; };
    run.val = run.loss;
    const HealthFigures figures = run.figures();
    CHECK(kinds_of(figures) == Kinds{"rate_too_low"});
    CHECK_THAT(judge(figures).front().remedy, Catch::Contains("lr = 5 in place of 0.01"));
  }
  SECTION("a rate that is too low after a fix: steps are those of the whole run") {
    Run run;
    run.update = 1e-5;
    run.loss = [](int i) { return 2.31 - 1e-5 * i; };
    run.val = run.loss;
    const HealthFigures figures = changed(run, [](HealthFigures& f) {
      f.first_step = 100;
      f.run.total_steps += 100;
    });
    REQUIRE(kinds_of(figures) == Kinds{"rate_too_low"});
    CHECK(judge(figures).front().step == steps + 100);
    CHECK(judge(figures).front().cure->good_until == steps + 100);
  }
  SECTION("outputs that are far too large at the beginning") {
    Run run;
    run.loss = [](int i) { return 40 * std::exp(-i / 40.0) + 0.4; };
    run.val = run.loss;
    CHECK(kinds_of(run.figures()) == Kinds{"exploding_gradients"});
  }
  SECTION("layers that pass nothing on") {
    Run run;
    run.loss = [](int) { return 2.303; };
    run.val = run.loss;
    CHECK(kinds_of(changed(run, [](HealthFigures& f) {
            for (MeasuredStep& row : f.measured) row.gradient_ratio = 1e-4, row.least_update = 1e-6;
          })) == Kinds{"vanishing_gradients"});
  }
  SECTION("units that are dead from the beginning") {
    Run run;
    run.update = 1e-4;
    run.loss = [](int) { return 2.303; };
    run.val = run.loss;
    const auto figures =
        changed(run, [](HealthFigures& f) { f.units.front().dead_at_start = f.units.front().dead = 1; });
    CHECK(kinds_of(figures) == Kinds{"dead_units"});
    CHECK_THAT(judge(figures).front().evidence, Catch::Contains("model[2].ReLU"));
    // Where the figures begin after a fix, they say nothing about the initial weights.
    CHECK(kinds_of(changed(Run{}, [](HealthFigures& f) {
            f.first_step = 100;
            f.units.front().dead_at_start = 1;
          })).empty());
  }
  SECTION("units at the limit of their function") {
    CHECK(kinds_of(changed(Run{}, [](HealthFigures& f) {
            f.units.front() = {.path = "model[2].Tanh", .kind = "Tanh", .saturated_at_start = 0.9, .saturated = 0.9};
          })) == Kinds{"saturated_units"});
  }
  SECTION("statistics of two values") {
    const auto figures = changed(Run{}, [](HealthFigures& f) {
      f.run.batch = 2;
      f.norms.front().values = 2;
    });
    CHECK(kinds_of(figures) == Kinds{"small_batch_statistics"});
    CHECK_THAT(judge(figures).front().remedy, Catch::Contains("batch = 32"));
  }
  SECTION("gradients that are noise") {
    Run run;
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
    CHECK(noisy(4e-4) == Kinds{"noisy_gradients"});
    CHECK(noisy(4e-5) == Kinds{"rate_too_low"});
  }
  SECTION("a validation loss that rises while the training loss falls") {
    Run run;
    run.val = [](int i) { return 0.8 + 0.0000175 * (i - 120) * (i - 120) + 0.01 * std::cos(2.3 * i); };
    CHECK(kinds_of(run.figures()) == Kinds{"overfitting"});
  }
  SECTION("labels that do not belong to their inputs") {
    Run run;
    run.val = [](int i) { return 2.35 + 0.001 * i; };
    CHECK(kinds_of(run.figures()) == Kinds{"overfitting"});
  }
  SECTION("a model that learns nothing at a usual rate") {
    Run run;
    run.loss = [](int i) { return 2.29 + 0.02 * std::sin(1.3 * i); };
    run.val = run.loss;
    CHECK(kinds_of(run.figures()) == Kinds{"underfitting"});
  }
}

TEST_CASE("the advice on a rate names the place at which the recipe sets this rate") {
  Run low;
  low.update = 1e-5;
  low.loss = [](int i) { return 2.31 - 1e-5 * i; };
  low.val = low.loss;
  Run high;
  high.update = 0.05;
  high.loss = [](int i) { return i < 3 ? 2.3 : 4 + std::sin(i); };
  high.val = high.loss;
  const auto remedy = [](const Run& run, auto&& change) {
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
  Run high;
  high.update = 0.05;
  high.loss = [](int i) { return i < 3 ? 2.3 : 4 + std::sin(i); };
  high.val = high.loss;
  const auto verdict = [&](double lr, double update, auto&& change) {
    high.update = update;
    const std::vector<HealthVerdict> found = judge(changed(high, [&](HealthFigures& f) {
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
  Run low;
  low.update = 1e-5;
  low.loss = [](int i) { return 2.31 - 1e-5 * i; };
  low.val = low.loss;
  const auto verdict = [&](double lr, bool finds_step_size = false) {
    const std::vector<HealthVerdict> found = judge(changed(low, [&](HealthFigures& f) {
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

TEST_CASE("the loss of single samples is no sign of initial weights that are too large") {
  Run run;
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

namespace {

// The evaluations of a run of 60 epochs, whose validation loss is given by the epoch, until `epochs`.
HealthFigures evaluated(int epochs, const std::function<double(int)>& val, bool has_losses = true) {
  Run run;
  HealthFigures figures = run.figures();
  if (!has_losses) figures.losses = {};
  figures.evaluations.clear();
  for (int i = 0; i < epochs; ++i) {
    figures.add(MeasuredEvaluation{
        .step = 10.0 * (i + 1), .train_loss = 2 / (1.0 + i), .val_loss = val(i) + 0.002 * std::cos(2.3 * i)});
  }
  return figures;
}

// Falls to 1 until epoch 10, rises to 2 until epoch 20, falls to 0.4 until epoch 40, and rises to 1.2.
double turning(int i) {
  if (i < 10) return 2 - 0.1 * i;
  if (i < 20) return 1 + 0.1 * (i - 10);
  if (i < 40) return 2 - 0.08 * (i - 20);
  return 0.4 + 0.04 * (i - 40);
}

}  // namespace

TEST_CASE("a verdict of overfitting is taken back when the validation loss falls below its best, and may come again") {
  for (const bool has_losses : {true, false}) {  // a fit with a step of its own shows its validations alone
    INFO(has_losses);
    std::vector<HealthVerdict> told;
    std::vector<int> said, taken_back;
    for (int epochs = 1; epochs <= 60; ++epochs) {
      HealthFigures figures = evaluated(epochs, turning, has_losses);
      if (has_losses) {
        figures.losses = {};
        for (int i = 0; i < 10 * epochs; ++i) figures.losses.add(2.0 / (1 + i));
      }
      for (const std::string& line : take_back(told, figures)) {
        CHECK_THAT(line, Catch::StartsWith("health: overfitting is taken back after " + std::to_string(10 * epochs) +
                                           " steps: the validation loss has fallen to "));
        taken_back.push_back(epochs);
      }
      for (const HealthVerdict& verdict : add_verdicts(told, judge(figures))) {
        CHECK(verdict.kind == HealthKind::overfitting);
        CHECK(verdict.step == 10 * epochs);
        said.push_back(epochs);
      }
    }
    REQUIRE(said.size() == 2);
    REQUIRE(taken_back.size() == 1);
    CHECK((said[0] > 10 && said[0] <= 20));
    CHECK((taken_back[0] > 33 && taken_back[0] <= 42));
    CHECK(said[1] > taken_back[0] + 1);
    CHECK(told.size() == 1);
  }
}

TEST_CASE("a validation loss near its best takes no verdict back") {
  std::vector<HealthVerdict> told;
  const auto returning = [](int i) { return i < 20 ? turning(i) : std::max(turning(i), 0.998); };
  for (int epochs = 1; epochs <= 40; ++epochs) {
    const HealthFigures figures = evaluated(epochs, returning);
    CHECK(take_back(told, figures).empty());
    add_verdicts(told, judge(figures));
  }
  CHECK(told.size() == 1);
}

TEST_CASE("noise that goes on from one validation to the next is not taken for overfitting") {
  // y of a run that has learnt, with noise of a sixth of y whose correlation is 0.6, of 200 runs of 60 validations.
  int alarms = 0;
  std::uint64_t state = 1;
  const auto draw = [&state] {  // the sum of 12 uniform numbers, less 6
    double sum = -6;
    for (int i = 0; i < 12; ++i) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      sum += static_cast<double>(state >> 11) * 0x1p-53;
    }
    return sum;
  };
  for (int run = 0; run < 200; ++run) {
    double noise = 0;
    std::vector<double> val;
    for (int i = 0; i < 60; ++i) {
      noise = 0.6 * noise + 0.8 * draw();
      val.push_back(0.3 + 2 * std::exp(-i / 6.0) + 0.05 * noise);
    }
    bool is_alarm = false;
    for (int epochs = 6; epochs <= 60 && !is_alarm; ++epochs) {
      HealthFigures figures;
      for (int i = 0; i < epochs; ++i) {
        figures.add(MeasuredEvaluation{
            .step = 1.0 + i, .train_loss = 2 / (1.0 + i), .val_loss = val[static_cast<std::size_t>(i)]});
      }
      is_alarm = kinds_of(figures) == Kinds{"overfitting"};
    }
    alarms += is_alarm;
  }
  CHECK(alarms <= 10);
}

TEST_CASE("a training loss that still falls a little is no reason against a plateau") {
  Run flat;
  const auto kinds = [&](double fall) {
    flat.loss = [fall](int i) { return 1 + 1.3 * std::exp(-i / 20.0) - fall * i / steps; };
    return kinds_of(changed(flat, [&](HealthFigures& f) {
      f.evaluations.clear();
      for (int i = 4; i < steps; i += 5) {
        f.add(MeasuredEvaluation{.step = i + 1.0,
                                 .train_loss = flat.loss(i),
                                 .val_loss = 1.2 + 1.1 * std::exp(-i / 20.0) + 0.005 * std::cos(2.3 * i)});
      }
    }));
  };
  CHECK(kinds(0.1) == Kinds{"plateau"});
  CHECK(kinds(0.6).empty());
}

TEST_CASE("a plateau is told under a rate that stays, also where a function sets the rate") {
  Run flat;
  flat.loss = [](int i) { return 1 + 1.3 * std::exp(-i / 20.0); };
  flat.val = flat.loss;
  const auto plateau = [&](auto&& change) {
    return judge(changed(flat, [&](HealthFigures& f) {
      f.evaluations.clear();
      for (int i = 4; i < steps; i += 5)
        f.add(MeasuredEvaluation{.step = i + 1.0, .train_loss = flat.loss(i), .val_loss = flat.val(i)});
      change(f);
    }));
  };
  const std::vector<HealthVerdict> by_schedule = plateau([](HealthFigures&) {});
  const std::vector<HealthVerdict> by_function = plateau([](HealthFigures& f) {
    f.set_rate = 0.01;
    f.set_at = "r.lua:16";
  });
  CHECK(plateau([](HealthFigures& f) { f.may_rate_fall = true; }).empty());
  CHECK(plateau([](HealthFigures& f) { f.measured.back().rate = 0.001; }).empty());
  REQUIRE((by_schedule.size() == 1 && by_function.size() == 1));
  CHECK_THAT(by_schedule.front().remedy, Catch::StartsWith("schedule = "));
  CHECK_THAT(by_function.front().remedy, Catch::Contains("which r.lua:16 sets") && !Catch::Contains("schedule"));
}

TEST_CASE("the evidence leaves out an update that was not measured") {
  Run slow;
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
  Run run;
  run.loss = [](int i) { return 2.303 + 0.05 * std::sin(1.3 * i); };
  run.val = run.loss;
  const std::vector<HealthVerdict> found = judge(changed(run, [](HealthFigures& f) {
    f.run.accumulate = 4;
    for (MeasuredStep& row : f.measured) row.product = 5e-3, row.slope_after = -0.05;
  }));
  REQUIRE(found.size() == 1);
  CHECK(found.front().remedy == "accumulate = 256, or a batch 64 times larger");
}

TEST_CASE("a symptom that was told leaves the list when its cause is found") {
  const auto verdict = [](HealthKind kind) {
    return HealthVerdict{.kind = kind, .step = 1, .confidence = "high", .evidence = "e", .remedy = "r"};
  };
  std::vector<HealthVerdict> told;
  CHECK(add_verdicts(told, {verdict(HealthKind::underfitting)}).size() == 1);
  CHECK(add_verdicts(told, {verdict(HealthKind::underfitting)}).empty());
  CHECK(add_verdicts(told, {verdict(HealthKind::rate_too_high)}).size() == 1);
  REQUIRE(told.size() == 1);
  CHECK(told.front().kind == HealthKind::rate_too_high);
  CHECK(add_verdicts(told, {verdict(HealthKind::plateau)}).empty());
  CHECK(add_verdicts(told, {verdict(HealthKind::leakage)}).size() == 1);
  CHECK(told.size() == 2);
}

TEST_CASE("what is told in the end is what is told of faults that are found together") {
  const auto verdict = [](HealthKind kind, std::string rule = "") {
    return HealthVerdict{
        .kind = kind, .step = 1, .confidence = "high", .evidence = "e", .remedy = "r", .rule = std::move(rule)};
  };
  // That one class is chosen is a symptom of dead units, which are found later.
  for (const HealthKind cause : {HealthKind::dead_units, HealthKind::overfitting, HealthKind::rate_too_high}) {
    INFO(name_of(cause));
    std::vector<HealthVerdict> told;
    CHECK(add_verdicts(told, {verdict(HealthKind::class_collapse, "class_collapse")}).size() == 1);
    CHECK(add_verdicts(told, {verdict(cause)}).size() == 1);
    REQUIRE(told.size() == 1);
    CHECK(told.front().kind == cause);
    CHECK(add_verdicts(told, {verdict(HealthKind::class_collapse, "class_collapse")}).empty());
  }
  // That all labels are alike is a cause of dead units.
  std::vector<HealthVerdict> told;
  CHECK(add_verdicts(told, {verdict(HealthKind::class_collapse, "one_label")}).size() == 1);
  CHECK(add_verdicts(told, {verdict(HealthKind::dead_units)}).empty());
  CHECK(add_verdicts(told, {verdict(HealthKind::class_collapse, "class_collapse")}).empty());
  // A layer that makes infinite values hides less than infinite data do.
  told.clear();
  CHECK(add_verdicts(told, {verdict(HealthKind::not_finite, "not_finite")}).size() == 1);
  CHECK(add_verdicts(told, {verdict(HealthKind::exploding_gradients)}).size() == 1);
  CHECK(told.size() == 1);
  told.clear();
  CHECK(add_verdicts(told, {verdict(HealthKind::not_finite, "not_finite_data")}).size() == 1);
  CHECK(add_verdicts(told, {verdict(HealthKind::exploding_gradients)}).empty());
}

TEST_CASE("each verdict names its rule") {
  Run run;
  const std::vector<HealthVerdict> one_label = judge(changed(run, [](HealthFigures& f) {
    f.run.entropy = 0;
    f.run.largest_share = 1;
  }));
  REQUIRE(one_label.size() == 1);
  CHECK(one_label.front().rule == "one_label");
  CHECK(verdict_of_stored(to_stored(one_label.front())).rule == "one_label");
}

TEST_CASE("verdicts come back from a checkpoint") {
  const HealthVerdict verdict{
      .kind = HealthKind::dead_units, .step = 12, .confidence = "high", .evidence = "e", .remedy = "r"};
  CHECK(to_value(verdict_of_stored(to_stored(verdict))) == to_value(verdict));
  CHECK(to_value(verdict)["kind"] == Value("dead_units"));
  CHECK_THROWS(verdict_of_stored(Value::Map{{"kind", "tired"}}));
}

}  // namespace trainlab::rules_test

// A run that learns and in which all is well, as the figures of health that a fit keeps: what the tests of the rules
// begin with, and spoil.
#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "health/verdict.h"

namespace trainlab::test {

inline const double ten_classes = std::log(10.0);  // the loss of a constant prediction for ten equal classes

// The figures before the first step.
inline HealthFigures healthy_facts(std::int64_t total_steps) {
  HealthFigures figures;
  figures.run = {.total_steps = total_steps,
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
  return figures;
}

struct HealthyRun {
  static constexpr int steps = 400;

  // The losses by the step.
  std::function<double(int)> loss = [](int i) { return 0.2 + 2.1 * std::exp(-i / 60.0) + 0.05 * std::sin(1.7 * i); };
  std::function<double(int)> val = [](int i) { return 0.25 + 2.05 * std::exp(-i / 60.0) + 0.01 * std::cos(2.3 * i); };
  double update = 8e-3;
  int done = steps;

  HealthFigures figures() const {
    HealthFigures figures = healthy_facts(steps);
    for (int i = 0; i < done; ++i) {
      if (std::isfinite(loss(i))) figures.losses.add(loss(i));
      if (i % 20 == 0) {
        figures.add(MeasuredStep{.step = static_cast<double>(i),
                                 .rate = 0.01,
                                 .median_update = update,
                                 .gradient_norm = 1,
                                 .largest_at = 2,
                                 .least_at = 0,
                                 .least_gradient = 0.8,
                                 .least_update = update / 2,
                                 .slope_before = 1,
                                 .slope_after = 0.4,
                                 .square = 1,
                                 .product = 0.3,
                                 .top_share = 0.15});
      }
      if (i % 20 == 19)
        figures.add(MeasuredEvaluation{.step = static_cast<double>(i + 1), .train_loss = loss(i), .val_loss = val(i)});
    }
    figures.weights = {"model.2.weight", "model.4.weight", "model.6.weight"};
    figures.units = {{.path = "model[2].ReLU", .kind = "ReLU", .dead_at_start = 0.05, .dead = 0.1}};
    figures.norms = {{.path = "model[3].BatchNorm1d", .values = 50}};
    return figures;
  }
};

template <class F>
HealthFigures changed(const HealthyRun& run, F&& change) {
  HealthFigures figures = run.figures();
  std::forward<F>(change)(figures);
  return figures;
}

using Kinds = std::vector<std::string>;

// The names of the verdicts, each of which is checked to say all that a verdict says.
inline Kinds kinds_of(const HealthFigures& figures) {
  Kinds kinds;
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

}  // namespace trainlab::test

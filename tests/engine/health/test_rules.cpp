// The rules of health on stored figures: silence for healthy runs, and the list of the verdicts that are told. For each
// fault its own verdict and no other: the files test_…_rules.cpp.
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "healthy_run.h"

namespace trainlab::rules_test {

using namespace test;

TEST_CASE("all is well: no verdict, at any step of the run") {
  for (int done = 0; done <= HealthyRun::steps; done += 10) {
    HealthyRun run;
    run.done = done;
    INFO(done);
    CHECK(kinds_of(run.figures()).empty());
  }
}

TEST_CASE("healthy runs of other kinds get no verdict") {
  HealthyRun noisy;  // labels of which a third is wrong: the loss stays high
  noisy.loss = [](int i) { return 1.2 + 1.1 * std::exp(-i / 50.0) + 0.1 * std::sin(2.9 * i); };
  noisy.val = [](int i) { return 0.6 + 1.7 * std::exp(-i / 50.0); };
  CHECK(kinds_of(noisy.figures()).empty());

  HealthyRun fine_tuned;  // small updates from weights that are good already
  fine_tuned.update = 5e-4;
  fine_tuned.loss = [](int i) { return 0.1 + 0.3 * std::exp(-i / 30.0); };
  fine_tuned.val = [](int i) { return 0.12 + 0.3 * std::exp(-i / 30.0); };
  CHECK(kinds_of(fine_tuned.figures()).empty());

  HealthyRun tuned_text;  // small updates of a trained language model, whose loss had fallen before
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
  HealthyRun taken_over;
  taken_over.loss = [](int i) { return 0.3 + 4.5 * std::exp(-i / 40.0); };
  const auto trained_units = [](bool begins_trained) {
    return [begins_trained](HealthFigures& figures) {
      figures.run.begins_trained = begins_trained;
      figures.units.front().dead_at_start = 0.8;
    };
  };
  CHECK(kinds_of(changed(taken_over, trained_units(true))).empty());
  CHECK(kinds_of(changed(taken_over, trained_units(false))) == Kinds{"exploding_gradients"});

  HealthyRun negative;  // a loss of the recipe's own, which falls below 0
  negative.loss = [](int i) { return -1.0 - i / 100.0; };
  CHECK(kinds_of(changed(negative, [](HealthFigures& figures) {
          figures.run.prior_loss = unmeasured;
          figures.run.is_never_negative = false;
          figures.evaluations.clear();
        })).empty());
}

TEST_CASE("a fit of which nothing was measured gets no verdict") { CHECK(judge(HealthFigures{}).empty()); }

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
  // A loss that jumps late is no cause of overfitting before.
  std::vector<HealthVerdict> by_heart;
  CHECK(add_verdicts(by_heart, {verdict(HealthKind::overfitting, "overfitting")}).size() == 1);
  CHECK(add_verdicts(by_heart, {verdict(HealthKind::rate_too_high, "loss_lost_again")}).size() == 1);
  CHECK(by_heart.size() == 2);
  CHECK(add_verdicts(by_heart, {verdict(HealthKind::rate_too_high, "rate_too_high")}).size() == 1);
  REQUIRE(by_heart.size() == 1);
  CHECK(by_heart.front().rule == "rate_too_high");
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
  HealthyRun run;
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

// The rules of health for the course of a run.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "healthy_run.h"

namespace trainlab::course_rules_test {

using namespace test;

TEST_CASE("each fault of the course has its own verdict") {
  SECTION("a validation loss that rises while the training loss falls") {
    HealthyRun run;
    run.val = [](int i) { return 0.8 + 0.0000175 * (i - 120) * (i - 120) + 0.01 * std::cos(2.3 * i); };
    CHECK(kinds_of(run.figures()) == Kinds{"overfitting"});
  }
  SECTION("labels that do not belong to their inputs") {
    HealthyRun run;
    run.val = [](int i) { return 2.35 + 0.001 * i; };
    CHECK(kinds_of(run.figures()) == Kinds{"overfitting"});
    run.val = [](int) { return 1e16; };  // of a single value of the validation part
    CHECK(kinds_of(run.figures()).empty());
  }
  SECTION("a validation loss that rises while the training loss stays where it is") {
    HealthyRun run;
    run.val = [](int i) { return 0.8 + 0.0000175 * (i - 120) * (i - 120) + 0.01 * std::cos(2.3 * i); };
    const auto kinds_with = [&](double fall) {
      return kinds_of(changed(run, [&](HealthFigures& f) {
        for (MeasuredEvaluation& row : f.evaluations)
          row.train_loss = 0.1 - fall * row.step / HealthyRun::steps + 0.003 * std::sin(2.3 * row.step / 10);
      }));
    };
    CHECK(kinds_with(0.05) == Kinds{"overfitting"});
    CHECK(kinds_with(0.001).empty());
  }
  SECTION("a training loss that falls fast in a short run, which bends") {
    HealthyRun run;
    const auto figures = changed(run, [](HealthFigures& f) {
      f.evaluations.clear();
      for (int i = 0; i < 8; ++i)
        f.add(MeasuredEvaluation{.step = 50.0 * (i + 1), .train_loss = 2 * std::exp2(-i), .val_loss = 1 + 0.1 * i});
    });
    CHECK(kinds_of(figures) == Kinds{"overfitting"});
  }
  SECTION("a model that learns nothing at a usual rate") {
    HealthyRun run;
    run.loss = [](int i) { return 2.29 + 0.02 * std::sin(1.3 * i); };
    run.val = run.loss;
    CHECK(kinds_of(run.figures()) == Kinds{"underfitting"});
  }
}

TEST_CASE("a loss near 0 may rise by a large factor") {
  HealthyRun run;
  run.loss = [](int i) { return 2.3 * std::exp(-i / 30.0); };
  const auto rising_to = [&](double end) {
    run.val = [=](int i) { return 0.002 + 2.3 * std::exp(-i / 20.0) + end * i / 400; };
    return kinds_of(run.figures());
  };
  CHECK(rising_to(0.02).empty());  // tenfold
  CHECK(rising_to(0.2) == Kinds{"overfitting"});
}

TEST_CASE("a verdict of underfitting is taken back when the training goes on and learns") {
  HealthyRun run;
  run.loss = [](int i) { return 2.29 + 0.02 * std::sin(1.3 * i); };
  run.val = run.loss;
  HealthFigures figures = run.figures();
  std::vector<HealthVerdict> told;
  add_verdicts(told, judge(figures));
  REQUIRE(told.size() == 1);
  REQUIRE(told.front().kind == HealthKind::underfitting);
  figures.run.total_steps = 4000;
  const auto go_on = [&](double loss) {
    for (int i = 0; i < 400; ++i) figures.losses.add(loss);
    return take_back(told, figures);
  };
  CHECK(go_on(2.25).empty());
  const std::vector<std::string> lines = go_on(1.2);
  REQUIRE(lines.size() == 1);
  CHECK_THAT(lines.front(), Catch::StartsWith("health: underfitting is taken back after 1200 steps: the training loss "
                                              "is 1.2, and a constant prediction has 2.3"));
  CHECK(told.empty());
}

TEST_CASE("rare classes that the model never chooses are told, unless it learns all the same") {
  // A tenth of the labels are of the second class.
  const double prior = -0.9 * std::log(0.9) - 0.1 * std::log(0.1);
  const auto kinds_with = [&](double loss, double chosen) {
    HealthyRun run;
    run.loss = [=](int i) { return loss + 0.35 * std::exp(-i / 20.0); };
    run.val = run.loss;
    return kinds_of(changed(run, [&](HealthFigures& f) {
      f.run.classes = 2;
      f.run.entropy = 0.6 * std::log(2.0);  // above the half at which the labels alone tell it
      f.run.largest_share = 0.9;
      f.run.prior_loss = prior;
      for (MeasuredStep& row : f.measured) row.top_share = 1 - chosen;
    }));
  };
  CHECK(kinds_with(prior, 0) == Kinds{"class_collapse"});
  CHECK(kinds_with(prior, 0.005) == Kinds{"class_collapse"});
  CHECK(kinds_with(prior, 0.05) == Kinds{"underfitting"});
  CHECK(kinds_with(0.5 * prior, 0).empty());
}

TEST_CASE("a validation part with other targets is compared with the constant prediction on these targets") {
  HealthyRun run;
  run.val = [](int i) { return 2.9 + 0.3 * std::exp(-i / 60.0); };
  CHECK(kinds_of(run.figures()) == Kinds{"overfitting"});
  const auto with_constant = [&](double loss) {
    return changed(run, [&](HealthFigures& f) { f.run.val_prior_loss = loss; });
  };
  CHECK(kinds_of(with_constant(4)).empty());
  REQUIRE(kinds_of(with_constant(2.8)) == Kinds{"overfitting"});
  CHECK_THAT(judge(with_constant(2.8)).front().evidence, Catch::Contains("a constant prediction has 2.8"));
}

namespace {

// The evaluations of a run of 60 epochs, whose validation loss is given by the epoch, until `epochs`.
HealthFigures evaluated(int epochs, const std::function<double(int)>& val, bool has_losses = true) {
  HealthyRun run;
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
  HealthyRun flat;
  const auto kinds = [&](double fall) {
    flat.loss = [fall](int i) { return 1 + 1.3 * std::exp(-i / 20.0) - fall * i / HealthyRun::steps; };
    return kinds_of(changed(flat, [&](HealthFigures& f) {
      f.evaluations.clear();
      for (int i = 4; i < HealthyRun::steps; i += 5) {
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
  HealthyRun flat;
  flat.loss = [](int i) { return 1 + 1.3 * std::exp(-i / 20.0); };
  flat.val = flat.loss;
  const auto plateau = [&](auto&& change) {
    return judge(changed(flat, [&](HealthFigures& f) {
      f.evaluations.clear();
      for (int i = 4; i < HealthyRun::steps; i += 5)
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

}  // namespace trainlab::course_rules_test

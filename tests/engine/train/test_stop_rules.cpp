// Stop rules, fed with values as validations would give them.
#include <catch2/catch.hpp>

#include <cmath>
#include <functional>
#include <limits>

#include "support/fit_support.h"
#include "train/stop.h"

namespace trainlab::stop_rules_test {

using namespace test;

namespace {

const double nan_value = std::nan("");
const double infinite = std::numeric_limits<double>::infinity();

StopContext context() {
  return {.monitor = "val.loss",
          .minimize =
              [](const std::string& name) {
                if (name != "val.loss" && name != "train.loss" && name != "val.accuracy") {
                  throw recipe_error("there is no metric " + name).hint("did you mean val.loss?");
                }
                return name != "val.accuracy";
              },
          .best_possible = [](const std::string& name) -> std::optional<double> {
            if (name == "train.loss") return std::nullopt;
            return name == "val.accuracy" ? 1 : 0;
          }};
}

std::unique_ptr<StopRule> rule(const std::string& json) {
  Value value = parse_json(json, "test");
  value.set("@at", "recipe.lua:7");
  auto spec = std::make_shared<Spec>();
  spec->value = full_registry().check(value, "fit.stop");
  const Options options(full_registry(), spec, "fit.stop");
  return full_registry().implementation<StopFactory>(options.entry())(options, context());
}

std::optional<std::string> ask(StopRule& stop, double value, const std::string& expected = "val.loss") {
  Progress progress;
  progress.metric = [&](const std::string& name) {
    CHECK(name == expected);
    return value;
  };
  return stop.validated(progress);
}

// The number of the validation that stops, from 1; 0 for none.
int stops_at(StopRule& stop, const std::vector<double>& values, const std::string& expected = "val.loss") {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (ask(stop, values[i], expected)) return static_cast<int>(i) + 1;
  }
  return 0;
}

}  // namespace

TEST_CASE("patience counts validations in a row without improvement") {
  const std::string two = R"({"@": "stop.patience", "patience": 2})";
  CHECK(stops_at(*rule(two), {3, 2, 1, 1, 1}) == 5);
  CHECK(stops_at(*rule(two), {3, 2, 2.5, 1.9, 2, 1.8, 1.7}) == 0);
  CHECK(stops_at(*rule(R"({"@": "stop.patience", "patience": 1})"), {1, 1}) == 2);
  CHECK(ask(*rule(R"({"@": "stop.patience", "patience": 1})"), nan_value) ==
        "val.loss did not improve in 1 validation (it was never finite)");
}

TEST_CASE("small improvements are measured from the last value that counted") {
  // Each step improves by less than min_delta, together they do: 0.94 counts, for it is 0.06 below 1.
  const std::string delta = R"({"@": "stop.patience", "patience": 3, "min_delta": 0.05})";
  CHECK(stops_at(*rule(delta), {1, 0.97, 0.94, 0.92, 0.91, 0.90}) == 6);
  // Exactly min_delta is not more than min_delta.
  CHECK(stops_at(*rule(R"({"@": "stop.patience", "patience": 1, "min_delta": 0.5})"), {1, 0.5}) == 2);
}

TEST_CASE("the metric's direction decides what an improvement is") {
  const std::string accuracy = R"({"@": "stop.patience", "patience": 2, "metric": "val.accuracy"})";
  CHECK(stops_at(*rule(accuracy), {0.1, 0.2, 0.3, 0.3, 0.2}, "val.accuracy") == 5);
  CHECK(stops_at(*rule(accuracy), {0.5, 0.4, 0.3}, "val.accuracy") == 3);
}

TEST_CASE("a rule says what it does where its metric is not finite") {
  const auto said = [](const std::string& json, double value = nan_value, const std::string& metric = "val.loss") {
    return rule(json)->at_not_finite(metric, value);
  };
  CHECK(said(R"({"@": "stop.patience"})") == "stop.patience counts it as no improvement");
  CHECK(said(R"({"@": "stop.patience"})", nan_value, "val.accuracy").empty());
  CHECK(said(R"({"@": "stop.threshold", "below": 1})") == "to stop.threshold it is neither above nor below");
  CHECK(said(R"({"@": "stop.threshold", "below": 1})", infinite).empty());
  CHECK(said(R"({"@": "stop.divergence", "metric": "val.loss"})", infinite) == "stop.divergence stops the fit");
  CHECK(said(R"({"@": "stop.divergence"})").empty());
  CHECK(said(R"({"@": "stop.forecast", "worth": 0.1})") == "stop.forecast leaves it out");
  CHECK(said(R"({"@": "stop.rising"})") == "stop.rising leaves it out");
}

namespace {

// The same for a rule that reads the training loss too.
int stops_at_two(StopRule& stop, const std::vector<double>& val, const std::vector<double>& train) {
  for (std::size_t i = 0; i < val.size(); ++i) {
    Progress progress;
    progress.metric = [&](const std::string& name) { return name == "train.loss" ? train[i] : val[i]; };
    if (stop.validated(progress)) return static_cast<int>(i) + 1;
  }
  return 0;
}

}  // namespace

TEST_CASE("the generalization loss stops beyond a share above the best") {
  const std::string five = R"({"@": "stop.generalization_loss", "above": 5})";
  CHECK(stops_at(*rule(R"({"@": "stop.generalization_loss", "above": 6.25})"), {2, 1, 1.04, 1.0625, 1.07}) == 5);
  CHECK(stops_at(*rule(five), {2, nan_value, 1, infinite, 0.5, 0.52}) == 0);
  CHECK(stops_at(*rule(five), {-1, 3}) == 0);  // there is no share of a best below 0
  const auto stop = rule(five);
  ask(*stop, 0.5);
  CHECK(ask(*stop, 0.55) == "val.loss is 0.55, 10 % above its best 0.5");
  CHECK_THAT(error_of([] { rule(R"({"@": "stop.generalization_loss", "metric": "val.accuracy"})"); }),
             Catch::Contains("metric: expected a metric that is better when smaller, found val.accuracy"));
}

TEST_CASE("the generalization quotient weighs the loss above its best with what the training still gains") {
  // At the end of a strip of two: GL = 10, and P = 1000 (1.005 / 1 - 1) = 5 or 1000 (1.1 / 1 - 1) = 100.
  const std::string strips = R"({"@": "stop.generalization_quotient", "above": 1, "strip": 2})";
  CHECK(stops_at_two(*rule(strips), {1, 1.1}, {1.01, 1}) == 2);
  CHECK(stops_at_two(*rule(strips), {1, 1.1}, {1.2, 1}) == 0);
  CHECK(stops_at_two(*rule(strips), {1, 1.1, 1, 1.1}, {1.2, 1, 1, 1}) == 4);
  CHECK(stops_at_two(*rule(strips), {1, 1, 1, 1}, {1, 1, 1, 1}) == 0);  // both stand still
  CHECK(stops_at_two(*rule(strips), {1, 1.1}, {-1.01, -1}) == 0);       // no quotient of losses below 0
  CHECK(stops_at_two(*rule(R"({"@": "stop.generalization_quotient", "above": 2.1, "strip": 2})"), {1, 1.1},
                     {1.01, 1}) == 0);
}

TEST_CASE("a loss rises from strip to strip") {
  const std::string two = R"({"@": "stop.rising", "times": 2, "strip": 2})";
  CHECK(stops_at(*rule(two), {9, 1, 0, 2, 0, 3}) == 6);
  CHECK(stops_at(*rule(two), {9, 1, 0, 2, 0, 2, 0, 3, 9, 4}) == 10);  // an equal end is no rise
  CHECK(stops_at(*rule(two), {1, 2, 3, 4, 5}) == 0);                  // one strip is not over
  CHECK(stops_at(*rule(two), {9, 1, nan_value, 0, 2, 0, 3}) == 7);
}

TEST_CASE("values that are not finite are never improvements") {
  const std::string two = R"({"@": "stop.patience", "patience": 2})";
  CHECK(stops_at(*rule(two), {nan_value, nan_value}) == 2);
  CHECK(stops_at(*rule(two), {nan_value, 1, nan_value, 0.9, -infinite, nan_value}) == 6);
}

TEST_CASE("patience says what it saw") {
  const auto stop = rule(R"({"@": "stop.patience", "patience": 2, "min_delta": 1e-3})");
  ask(*stop, 0.5);
  ask(*stop, 0.6);
  CHECK(ask(*stop, 0.7) == "val.loss did not improve by more than 0.001 in 2 validations (best 0.5)");
}

TEST_CASE("a rule restored from its state goes on as if it had not been away") {
  const struct {
    std::string json, metric;
    std::vector<double> values;
  } trials[] = {
      {R"({"@": "stop.patience", "patience": 3})", "val.loss", {nan_value, 2, 1, 1.5, 1.2, 1.1}},
      {R"({"@": "stop.divergence", "checks": 2})", "train.loss", {1, 0.5, 9, 0.4, 9, 9}},
      {R"({"@": "stop.threshold", "below": 0.2})", "val.loss", {1, 0.5, 0.1}},
      {R"({"@": "stop.generalization_loss"})", "val.loss", {nan_value, 1, 1.02, 1.04, 1.06}},
      {R"({"@": "stop.rising", "times": 2, "strip": 2})", "val.loss", {9, 1, 0, 2, 0, 3}},
  };
  for (const auto& trial : trials) {
    INFO(trial.json);
    const int undisturbed = stops_at(*rule(trial.json), trial.values, trial.metric);
    REQUIRE(undisturbed == static_cast<int>(trial.values.size()));
    for (std::size_t cut = 0; cut < trial.values.size(); ++cut) {
      const auto before = rule(trial.json), after = rule(trial.json);
      for (std::size_t i = 0; i < cut; ++i) ask(*before, trial.values[i], trial.metric);
      after->restore(parse_json(to_json(before->state()), "state"));  // through the text of a checkpoint
      CHECK(after->state() == before->state());
      const std::vector<double> rest(trial.values.begin() + static_cast<std::ptrdiff_t>(cut), trial.values.end());
      CHECK(stops_at(*after, rest, trial.metric) + static_cast<int>(cut) == undisturbed);
    }
  }
}

TEST_CASE("a threshold stops beyond, not at, the number") {
  CHECK(stops_at(*rule(R"({"@": "stop.threshold", "metric": "val.accuracy", "above": 0.9})"),
                 {0.5, 0.9, nan_value, 0.91}, "val.accuracy") == 4);
  CHECK(stops_at(*rule(R"({"@": "stop.threshold", "below": 0.2})"), {1, 0.2, nan_value, 0.1}) == 4);
  CHECK(ask(*rule(R"({"@": "stop.threshold", "below": 0.2})"), 0.1) == "val.loss is 0.1, below 0.2");
}

TEST_CASE("a threshold that no model can pass is refused") {
  CHECK_THAT(error_of([] { rule(R"({"@": "stop.threshold", "metric": "val.accuracy", "above": 1})"); }),
             Catch::Contains("recipe.lua:7: fit.stop.above: expected less than 1, because no model can have a "
                             "val.accuracy above 1; found 1"));
  CHECK_THAT(error_of([] { rule(R"({"@": "stop.threshold", "below": -1})"); }),
             Catch::Contains("fit.stop.below: expected more than 0, because no model can have a val.loss below 0"));
  rule(R"({"@": "stop.threshold", "metric": "val.accuracy", "below": 0.1})");
  rule(R"({"@": "stop.threshold", "above": 5})");
  rule(R"({"@": "stop.threshold", "metric": "train.loss", "below": -3})");  // of a function of the recipe, perhaps
}

TEST_CASE("a threshold is above or below") {
  CHECK_THAT(error_of([] { rule(R"({"@": "stop.threshold", "above": 1, "below": 0})"); }),
             Catch::Contains("recipe.lua:7: fit.stop: expected only one of above and below"));
  CHECK_THAT(error_of([] { rule(R"({"@": "stop.threshold"})"); }), Catch::Contains("found neither"));
}

TEST_CASE("divergence is a loss far above its best, repeatedly") {
  const std::string plain = R"({"@": "stop.divergence"})";
  CHECK(stops_at(*rule(plain), {2, 1, 4, 4, 2.9, 4, 4, 4}, "train.loss") == 8);
  CHECK(stops_at(*rule(plain), {2, 1, 3, 3, 3, 3}, "train.loss") == 0);  // 3 times the best is not more than that
  CHECK(stops_at(*rule(R"({"@": "stop.divergence", "factor": 1.5, "checks": 1})"), {2, 1, 1.6}, "train.loss") == 3);
  CHECK(stops_at(*rule(R"({"@": "stop.divergence", "above": 1.5, "checks": 2})"), {1.6, 1, 1.6, 1.6}, "train.loss") ==
        4);
}

TEST_CASE("divergence stops at once where the loss is no number") {
  CHECK(ask(*rule(R"({"@": "stop.divergence"})"), nan_value, "train.loss") == "train.loss is nan");
  CHECK(stops_at(*rule(R"({"@": "stop.divergence"})"), {1, infinite}, "train.loss") == 2);
}

TEST_CASE("a loss near zero may bounce, and a negative one may move") {
  const std::string one = R"({"@": "stop.divergence", "checks": 1})";
  CHECK(stops_at(*rule(one), {2, 1e-6, 0.3}, "train.loss") == 0);  // 3e5 times the best, yet far below the first
  CHECK(stops_at(*rule(one), {2, 1e-6, 0.5}, "train.loss") == 3);
  CHECK(stops_at(*rule(one), {-1, -4, -3, 3.9}, "train.loss") == 0);
  CHECK(stops_at(*rule(one), {-1, -4, 4.1}, "train.loss") == 3);
}

TEST_CASE("divergence refuses metrics of which more is better") {
  CHECK_THAT(error_of([] { rule(R"({"@": "stop.divergence", "metric": "val.accuracy"})"); }),
             Catch::Contains("fit.stop.metric") && Catch::Contains("stop.threshold"));
}

TEST_CASE("an unknown metric is refused at the rule's own line, before the run and in it") {
  const std::string place = "recipe.lua:7: fit.stop.metric: there is no metric val.los\n  hint: did you mean val.loss?";
  for (const char* name : {"stop.patience", "stop.divergence"}) {
    CHECK(error_of([&] { rule(std::string(R"({"@": ")") + name + R"(", "metric": "val.los"})"); }) == place);
  }
  CHECK(error_of([] { rule(R"({"@": "stop.threshold", "metric": "val.los", "above": 1})"); }) == place);

  const auto stop = rule(R"({"@": "stop.patience"})");
  Progress progress;
  progress.metric = [](const std::string&) -> double { throw recipe_error("gone"); };
  CHECK(error_of([&] { stop->validated(progress); }) == "recipe.lua:7: fit.stop.metric: gone");
}

namespace {

// The validation that stops, from 1, of a training of 1,000 steps with a validation each 10; 0 for none.
int forecast_stops_at(StopRule& stop, const std::function<double(double)>& curve, bool rate_falls = false,
                      double seconds_per_step = 1, double seconds_before = 0) {
  for (int i = 1; i <= 100; ++i) {
    const Progress progress{.step = 10 * i,
                            .epoch = 0,
                            .seconds = seconds_before + 10 * i * seconds_per_step,
                            .total_steps = 1000,
                            .rate_falls = [&] { return rate_falls; },
                            .metric = [&](const std::string&) { return curve(10 * i); }};
    if (stop.validated(progress)) return i;
  }
  return 0;
}

}  // namespace

TEST_CASE("a forecast stops when no more than the worth is to be gained, and not while the rate falls") {
  const std::string plain = R"({"@": "stop.forecast", "worth": 0.01})";
  const auto settles = [](double x) { return 0.3 + 2 * std::exp(-x / 60); };
  const int at = forecast_stops_at(*rule(plain), settles);
  CHECK(at > 10);
  CHECK(at < 80);
  CHECK(settles(10 * at) - settles(1000) < 0.01);
  CHECK(forecast_stops_at(*rule(plain), settles, true) == 0);
  // A curve that falls on evenly is worth its whole way.
  const int late = forecast_stops_at(*rule(plain), [](double x) { return 3 - x / 400; });
  CHECK((late == 0 || late > 95));
  CHECK(forecast_stops_at(*rule(R"({"@": "stop.forecast", "worth": 0.01, "metric": "val.accuracy"})"),
                          [&](double x) { return 1 - settles(x) / 3; }) > 10);
}

TEST_CASE("a forecast within a time looks as far as the training gets in this time") {
  const auto slow = [](double x) { return 3 - x / 4000; };
  // 0.0025 in 10 s, which are 10 steps or 100.
  const std::string within = R"({"@": "stop.forecast", "worth": 0.03, "within": "10 s"})";
  CHECK(forecast_stops_at(*rule(within), slow, false, 1) == 10);
  // From validation 88 on, the rest of the run is worth less than 0.03.
  const int late = forecast_stops_at(*rule(within), slow, false, 0.01);
  CHECK((late == 0 || late > 88));
  // An hour that a fix has thrown away says nothing of the speed.
  CHECK(forecast_stops_at(*rule(within), slow, false, 0.01, 3600) == late);
  CHECK_THAT(error_of([] { rule(R"({"@": "stop.forecast", "worth": 1, "within": "2 epochs"})"); }),
             Catch::Contains("fit.stop.within: expected a time such as \"10 min\" or \"18 h\", found \"2 epochs\""));
  CHECK_THAT(error_of([] { rule(R"({"@": "stop.forecast"})"); }), Catch::Contains("worth"));
}

TEST_CASE("a forecast says what it saw, and goes on after a resume") {
  const std::string json = R"({"@": "stop.forecast", "worth": 0.5})";
  const auto value = [](int i) { return 1 + 1.0 / i; };
  auto stop = rule(json);
  std::optional<std::string> reason;
  for (int i = 1; i <= 10; ++i) {
    const auto resumed = rule(json);
    resumed->restore(parse_json(to_json(stop->state()), "state"));
    const Progress progress{
        .step = i, .epoch = 0, .total_steps = 20, .metric = [&](const std::string&) { return value(i); }};
    reason = stop->validated(progress);
    CHECK(resumed->validated(progress) == reason);
    if (i < 10) CHECK_FALSE(reason);
  }
  REQUIRE(reason);
  CHECK_THAT(*reason, Catch::Matches("val.loss is forecast to improve by at most 0\\.[0-9]+ until step 20, less than "
                                     "0.5 \\(best 1.1\\)"));
}

}  // namespace trainlab::stop_rules_test

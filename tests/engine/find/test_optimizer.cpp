// The range of good rates on curves that are known, and the search over optimizers on a small fit.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "find/optimizer.h"
#include "find/rate.h"
#include "optim/optimizer.h"
#include "support/error_of.h"
#include "support/fit_support.h"

namespace trainlab::optimizer_test {

using namespace test;

namespace {

constexpr double lost = std::numeric_limits<double>::quiet_NaN();

// Rates from 1 by factors of two.
std::vector<RatePoint> curve_of(const std::vector<double>& losses) {
  std::vector<RatePoint> curve;
  for (const double loss : losses) curve.push_back({std::exp2(curve.size()), loss});
  return curve;
}

Spec small_fit(const std::string& more) {
  return {.value = full_registry().check(parse_json(digits_fit(more), "test"), "fit"), .functions = {}};
}

}  // namespace

TEST_CASE("good rates reach to where the loss is a tenth above the least") {
  // (octaves from the best)² / 100 + 1 is 1.1 after √10 octaves; on a line between 1.09 and 1.16 after 3 + 1/7.
  std::vector<double> losses;
  for (int octave = -5; octave <= 5; ++octave) losses.push_back(1 + octave * octave / 100.0);
  const GoodRates good = good_rates(curve_of(losses));
  CHECK_FALSE(good.is_open);
  CHECK(good.octaves() == Approx(2 * (3 + 1.0 / 7)));
  CHECK(std::sqrt(good.low * good.high) == Approx(std::exp2(5)));
}

TEST_CASE("good rates of curves that end, that are lost, and of losses below zero") {
  const GoodRates open = good_rates(curve_of({1, 1.05, 2}));
  CHECK(open.is_open);
  CHECK(open.low == 1);
  CHECK(open.high == Approx(std::exp2(1 + 0.05 / 0.95)));

  const GoodRates beside = good_rates(curve_of({3, 1, lost}));
  CHECK_FALSE(beside.is_open);
  CHECK(beside.high == 2);

  const GoodRates below = good_rates(curve_of({0, -10, 0}));
  CHECK(below.octaves() == Approx(0.2));

  CHECK(std::isnan(good_rates(curve_of({lost, lost})).octaves()));
  CHECK(std::isnan(good_rates({}).octaves()));
}

TEST_CASE("optimizers are tuned and compared for a small fit, twice the same") {
  const RunSettings settings = test_settings();
  prepare_arithmetic(1);
  const Spec fit = small_fit(R"(, "epochs": 1)");
  const FoundOptimizer found = find_optimizer(full_registry(), fit, settings, {.seeds = 2});
  REQUIRE(found.all.size() == 4);  // the fit has AdamW itself
  CHECK(found.all[0].is_own);
  CHECK(found.all[0].name == "AdamW");
  CHECK(found.metric == "val.loss");
  double least = found.all[0].loss;
  for (const TunedOptimizer& one : found.all) {
    INFO(one.name);
    CHECK(one.curve.size() >= 9);
    CHECK(one.loss > 0);
    CHECK(one.error >= 0);
    CHECK(one.good.low < one.good.high);
    least = std::min(least, one.loss);
  }
  CHECK(found.all[found.suggestion].loss <= 1.05 * least);
  // A digit in ten is guessed with the loss log 10.
  CHECK(least < std::log(10));
  const std::string once = to_json(to_value(found));
  CHECK(to_json(to_value(find_optimizer(full_registry(), fit, settings, {.seeds = 2}))) == once);
}

TEST_CASE("a search whose time is used compares the optimizers that were tuned by then") {
  prepare_arithmetic(1);
  const Spec fit = small_fit(R"(, "epochs": 1)");
  const auto found_until = [&](const std::string& line) {
    double left = line.empty() ? 0 : 1000;
    OptimizerOptions options{.seeds = 2};
    options.context.say = [&](const std::string& said) { left = said.starts_with(line) ? 0 : left; };
    options.context.seconds_left = [&] { return left; };
    return find_optimizer(full_registry(), fit, test_settings(), options);
  };
  const FoundOptimizer none = found_until("");
  REQUIRE(none.all.size() == 1);
  CHECK(none.all.front().rate == none.all.front().usual_rate);
  CHECK(to_value(none)["optimizer"]["lr"] == Value(none.all.front().usual_rate));
  CHECK(to_value(none)["spread"].is_nil());
  CHECK(to_value(none)["optimizer"]["octaves"].is_nil());
  CHECK(to_value(none)["metric"].is_nil());
  for (const char* unknown : {"low", "high", "octaves"})
    CHECK(to_value(none)["optimizers"].list().front()["good"][unknown].is_nil());
  const FoundOptimizer own = found_until("AdamW took");
  REQUIRE(own.all.size() == 1);
  CHECK(own.all.front().loss > 0);
  CHECK(to_value(own)["status"] == Value("stopped"));
  CHECK(to_value(own)["optimizer"]["octaves"] == Value(own.all.front().good.octaves()));
}

TEST_CASE("beside plain SGD, SGD with momentum is tried, and the default of a rate that the recipe has changed") {
  prepare_arithmetic(1);
  Spec fit = small_fit(R"(, "epochs": 1)");
  fit.value.set("optim", parse_json(R"({"@": "optim.SGD", "lr": 0.2})", "test"));
  fit.value = full_registry().check(fit.value, "fit");
  const FoundOptimizer found = find_optimizer(full_registry(), fit, test_settings(), {.seeds = 2});
  std::vector<std::string> names;
  for (const TunedOptimizer& one : found.all) names.push_back(one.name);
  CHECK(names == std::vector<std::string>{"SGD", "AdamW", "SGD with momentum 0.9", "RMSprop", "Lion"});
  CHECK(found.all[0].usual_rate == 0.2);
  CHECK(found.all[0].default_rate == 0.001);
  CHECK(found.all[0].default_loss > found.all[0].usual_loss);  // an epoch at 0.001 is too short
  CHECK_FALSE(found.all[1].has_other_default());
}

TEST_CASE("the rate of a wrapped optimizer is found") {
  CHECK(option_path_of(parse_json(R"({"@": "optim.AdamW"})", "test"), "lr") == "optim.lr");
  CHECK(option_path_of(parse_json(R"({"@": "optim.SAM", "base": {"@": "optim.SGD", "lr": 1}})", "test"), "lr") ==
        "optim.base.lr");
  const RunSettings settings = test_settings();
  prepare_arithmetic(1);
  Spec fit = small_fit(R"(, "epochs": 1)");
  fit.value.set("optim", parse_json(R"({"@": "optim.SAM", "base": {"@": "optim.SGD", "lr": 1e-6}})", "test"));
  fit.value = full_registry().check(fit.value, "fit");
  const FoundRate found = find_rate(full_registry(), fit, settings, {.seeds = 2, .range_steps = 70});
  CHECK(found.choice.suggestion > 1e-3);
}

TEST_CASE("a fit whose length is a time has no optimizers to compare") {
  Spec fit = small_fit(R"(, "time": "1 s")");
  CHECK_THAT(error_of([&] { find_optimizer(full_registry(), fit, test_settings(), {}); }),
             Catch::Contains("expected a fit with epochs, steps or flops"));
}

}  // namespace trainlab::optimizer_test

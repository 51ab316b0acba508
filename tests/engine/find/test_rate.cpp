// Rates from range tests: the rules on curves that are known, and the whole search on a small fit.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "find/rate.h"
#include "support/fit_support.h"

namespace trainlab::rate_test {

using namespace test;

namespace {

// Falls between 1e-4 and 1e-1, and rises behind.
std::vector<RatePoint> valley_curve() {
  std::vector<RatePoint> curve;
  for (int i = 0; i < 140; ++i) {
    const double log_rate = -6 + 7.0 * i / 139;
    const double fallen = std::clamp((log_rate + 4) / 3, 0.0, 1.0), risen = std::max(log_rate + 0.5, 0.0);
    curve.push_back({std::pow(10, log_rate), 2.3 - 1.5 * fallen + 20 * risen});
  }
  return curve;
}

}  // namespace

TEST_CASE("the rules read a curve that falls and rises") {
  const RateSuggestions found = suggestions_of(valley_curve());
  CHECK(found.quarter_of_least == Approx(0.1 / 4).epsilon(0.15));
  CHECK(found.valley > 1e-4);
  CHECK(found.valley < 0.1);
  CHECK(found.steepest > 1e-4);
  CHECK(found.steepest < 0.3);
}

TEST_CASE("what comes after the loss is lost does not count") {
  std::vector<RatePoint> curve = valley_curve();
  const RateSuggestions before = suggestions_of(curve);
  for (std::size_t i = 130; i < curve.size(); ++i) curve[i].loss = i % 2 ? std::nan("") : 0;
  CHECK(suggestions_of(curve).quarter_of_least == before.quarter_of_least);
  CHECK(std::isnan(suggestions_of({}).quarter_of_least));
}

TEST_CASE("losses of small batches, which are noisy, give the same rate within a factor of ten") {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 50; ++i) {
    std::vector<RatePoint> curve = valley_curve();
    for (RatePoint& point : curve) point.loss *= std::exp(normal(random) / 2);
    const double rate = suggestions_of(curve).quarter_of_least;
    CHECK(rate > 0.1 / 4 / 10);
    CHECK(rate < 0.1 / 4 * 10);
  }
}

TEST_CASE("the median over curves is one in the logarithm of the rate") {
  const RateSuggestions median = median_of({{1e-3, 1, 1}, {1e-1, 1, 1}, {std::nan(""), 1, 4}});
  CHECK(median.quarter_of_least == Approx(1e-2));
  CHECK(median.steepest == 1);
}

TEST_CASE("the middle of the rates that cannot be told from the best is chosen") {
  const auto probe = [](double rate, double loss, double noise) {
    return ProbedRate{.rate = rate, .loss = loss, .losses = {loss - noise, loss + noise}};
  };
  const double lost = std::nan("");
  // With two seeds, the standard error of a difference is half of the range of the differences: 0.1 here.
  std::vector<ProbedRate> probes{probe(1, 1.5, 0.1), probe(2, 1.05, 0.1), probe(4, 1, 0), probe(8, 1.09, -0.1),
                                 probe(16, lost, 0)};
  const RateChoice choice = choose_rate(probes);
  CHECK(choice.low == 2);
  CHECK(choice.high == 8);
  CHECK(choice.suggestion == Approx(4));
  CHECK(choice.is_bounded);
  CHECK(probes[0].error == Approx(0.1));
  CHECK(probes[2].error == 0);

  // Rates beyond a worse one do not count, and the best may be at an end.
  probes = {probe(1, 1, 0), probe(2, 1.3, 0.1), probe(4, 1.01, 0.1)};
  CHECK(choose_rate(probes).suggestion == 1);
  CHECK_FALSE(choose_rate(probes).is_bounded);

  probes = {probe(1, lost, 0), probe(2, lost, 0)};
  CHECK(choose_rate(probes).suggestion == 0);
}

namespace {

Spec small_fit(const std::string& more) {
  return {.value = full_registry().check(parse_json(digits_fit(more), "test"), "fit"), .functions = {}};
}

}  // namespace

TEST_CASE("a rate is found for a small fit, twice the same") {
  const RunSettings settings = test_settings();
  prepare_arithmetic(1);
  const Spec spec = small_fit(R"(, "epochs": 3)");
  const RateOptions options{.seeds = 3, .range_steps = 70};
  const FoundRate found = find_rate(full_registry(), spec, settings, options);
  // AdamW trains this fit well from 1e-3 to 5e-2.
  CHECK(found.choice.suggestion > 1e-3);
  CHECK(found.choice.suggestion < 0.1);
  CHECK(found.choice.is_bounded);
  CHECK(found.metric == "val.loss");
  CHECK(found.steps == 3 * 23);
  CHECK(found.probe_steps == found.steps);
  REQUIRE(found.probes.size() >= 5);
  CHECK(std::ranges::is_sorted(found.probes, {}, &ProbedRate::rate));
  CHECK(found.curve.size() > 30);
  const Value value = to_value(found);
  CHECK(value["kind"] == Value("finder"));
  CHECK(value["lr"]["suggestion"].number() == found.choice.suggestion);
  CHECK(value["curve"].list().front()["lr"].number() == Approx(1e-6));
  CHECK(to_json(to_value(find_rate(full_registry(), spec, settings, options))) == to_json(value));
}

TEST_CASE("a search whose time is used finds the rate that is known by then") {
  const RunSettings settings = test_settings();
  prepare_arithmetic(1);
  const Spec spec = small_fit(R"(, "epochs": 3)");
  // Finds a rate until the search says `line`.
  const auto found_until = [&](const std::string& line) {
    double left = line.empty() ? 0 : 1000;
    RateOptions options{.seeds = 3, .range_steps = 70};
    options.context.say = [&](const std::string& said) { left = said.starts_with(line) ? 0 : left; };
    options.context.seconds_left = [&] { return left; };
    return find_rate(full_registry(), spec, settings, options);
  };
  const FoundRate none = found_until("");
  CHECK(none.choice.suggestion == 0.005);  // the fit's own
  CHECK(none.curve.empty());
  for (const char* unknown : {"low", "high", "start", "valley", "steepest"})
    CHECK(to_value(none)["lr"][unknown].is_nil());
  CHECK(to_value(none)["metric"].is_nil());
  const FoundRate tested = found_until("range test with seed 3");
  CHECK(tested.start > 0);
  CHECK(tested.choice.suggestion == tested.start);
  CHECK(tested.probes.empty());
  CHECK(to_value(tested)["lr"]["start"] == Value(tested.start));
  CHECK(to_value(tested)["lr"]["valley"].is_number());
  CHECK(to_value(tested)["lr"]["low"].is_nil());
  CHECK(to_value(tested)["lr"]["high"].is_nil());
  for (const FoundRate& found : {none, tested}) {
    CHECK(found.stopped == "the time budget is used");
    CHECK(to_value(found)["status"] == Value("stopped"));
    CHECK(to_value(found)["reason"] == Value("the time budget is used"));
  }
}

TEST_CASE("a search uses no more FLOPs than it may, and finds the rate that is known by then") {
  const RunSettings settings = test_settings();
  prepare_arithmetic(1);
  const Spec spec = small_fit(R"(, "epochs": 3)");
  std::vector<double> used;
  const auto found_with = [&](double most) {
    used.clear();
    RateOptions options{.seeds = 3, .range_steps = 70};
    options.context.most_flops = most;
    options.context.used = [&](double flops) { used.push_back(flops); };
    return find_rate(full_registry(), spec, settings, options);
  };
  const FoundRate whole = found_with(HUGE_VAL);
  CHECK(whole.stopped.empty());
  REQUIRE(used.size() == 3 + 3 * whole.probes.size());
  const double of_range = used.front(), of_probe = used.back();
  const FitPlan plan = plan_fit(Options(full_registry(), std::make_shared<const Spec>(spec), ""), settings);
  CHECK(of_range == plan.flops_until(70));
  CHECK(of_probe == plan.flops_until(whole.probe_steps));
  CHECK(std::ranges::count(used, of_range) == 3);

  const FoundRate none = found_with(plan.flops_until(1) - 1);
  CHECK(used.empty());
  CHECK(none.choice.suggestion == 0.005);  // the fit's own
  // The fourth probe is left when the FLOPs are used, and its rate has no loss of all three seeds.
  const FoundRate cut = found_with(3 * of_range + 3.5 * of_probe);
  CHECK(used.size() == 7);
  CHECK(used.back() == plan.flops_until(static_cast<std::int64_t>(plan.steps_within(of_probe / 2))));
  CHECK(cut.probes.size() == 1);
  CHECK(cut.choice.suggestion == cut.start);
  for (const FoundRate& found : {none, cut}) CHECK(found.stopped == "the budget of FLOPs is used");
}

TEST_CASE("a training that an error ends has used the FLOPs of its steps until then") {
  const RunSettings settings = test_settings();
  prepare_arithmetic(1);
  std::string fit = digits_fit(R"(, "epochs": 3)");
  const std::string accuracy = R"(["accuracy"])";
  fit.replace(fit.find(accuracy), accuracy.size(), R"([{"@": "function", "index": 0}])");
  Spec spec{.value = full_registry().check(parse_json(fit, "test"), "fit"), .functions = {}};
  spec.functions = {native([](std::span<const Argument>) -> std::vector<Argument> { throw recipe_error("no luck"); })};
  std::vector<double> used;
  RateOptions options{.seeds = 3, .range_steps = 70};
  options.context.used = [&](double flops) { used.push_back(flops); };
  CHECK_THROWS_WITH(find_rate(full_registry(), spec, settings, options), Catch::Contains("no luck"));
  const FitPlan plan = plan_fit(Options(full_registry(), std::make_shared<const Spec>(spec), ""), settings);
  CHECK(used == std::vector{plan.flops_until(plan.length.steps_per_epoch)});  // until the first validation
}

TEST_CASE("a rate at which the training fails is not suggested, however well it did before") {
  const RunSettings settings = test_settings();
  prepare_arithmetic(1);
  const Spec spec = small_fit(R"(, "steps": 100, "validate": "10 steps", "keep": "best",
                                  "schedule": {"@": "sched.step", "factor": 1e30, "every": "50%"})");
  CHECK_THROWS_WITH(find_rate(full_registry(), spec, settings, {.seeds = 1, .range_steps = 70}),
                    Catch::Contains("the loss is not finite in 100 steps at any of the rates"));
}

TEST_CASE("a probe goes through the whole schedule, whatever its form and the unit of its times") {
  const RunSettings settings = test_settings();
  prepare_arithmetic(1);
  // 1,000 steps of which the last half has next to no rate, and a probe of 100 steps, of which the last half has none
  // either.
  const auto losses = [&](const std::string& schedule, std::int64_t steps) {
    const Spec spec = small_fit(R"(, "keep": "last", "steps": )" + std::to_string(steps) + schedule);
    const FoundRate found =
        find_rate(full_registry(), spec, settings, {.seeds = 1, .range_steps = 70, .probe_steps = 100});
    std::vector<double> all;
    for (const ProbedRate& probe : found.probes) all.push_back(probe.loss);
    return all;
  };
  const std::string step = R"({"@": "sched.step", "factor": 1e-9, "every": )";
  const auto half = losses(R"(, "schedule": )" + step + R"("50%"})", 1000);
  CHECK(losses(R"(, "schedule": )" + step + R"("500 steps"})", 1000) == half);
  CHECK(losses(R"(, "schedule": {"lr": )" + step + R"("32000 samples"}})", 1000) == half);
  CHECK(losses(R"(, "schedule": )" + step + R"("50 steps"})", 100) == half);
  CHECK(losses("", 1000) != half);
}

}  // namespace trainlab::rate_test

// The forecast of a fit while it trains: of which step it is, and whether the rate is still to fall until then.
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/fit_support.h"

namespace trainlab::forecasts_test {

using namespace test;

namespace {

// What a fit says at a validation: to its observers, and to its stop rules.
struct Said {
  std::int64_t step = 0;
  double rate = 0;
  std::optional<Forecast> forecast = {};
  std::int64_t total_steps = 0;
  bool rate_falls = false;
};

class Hears final : public Observer {
 public:
  explicit Hears(std::vector<Said>& said) : said_(said) {}
  void validated(const ValidationView& view) override {
    said_.push_back({.step = view.step, .rate = view.rate, .forecast = view.forecast()});
  }

 private:
  std::vector<Said>& said_;
};

class IsAsked final : public StopRule {
 public:
  explicit IsAsked(std::vector<Said>& said) : said_(said) {}
  std::optional<std::string> validated(const Progress& progress) override {
    said_.back().total_steps = progress.total_steps;
    said_.back().rate_falls = progress.rate_falls();
    return {};
  }

 private:
  std::vector<Said>& said_;
};

struct Heard {
  std::vector<Said> said;
  Value summary;
};

// `steps_of_budget`: for which the run has FLOPs; 0: for any number.
Heard heard_of(const std::string& more, std::int64_t steps_of_budget = 0) {
  const TemporaryFolder folder;
  const RunSettings settings = test_settings();
  const Options options = parse_options(digits_fit(more));
  const FitPlan plan = plan_fit(options, settings);
  Heard heard;
  FitMember member{.options = options, .context = quiet_context(folder.path(), settings)};
  member.observers.push_back(std::make_shared<Hears>(heard.said));
  member.rules.push_back(std::make_shared<IsAsked>(heard.said));
  if (steps_of_budget > 0) member.context.most_flops = plan.flops_until(steps_of_budget);
  heard.summary = run_fits(plan, {&member, 1}, false).front();
  return heard;
}

const std::string restarts = R"(, "schedule": {"@": "sched.cosine_restarts", "every": "20 steps"})";

}  // namespace

TEST_CASE("at the bottom of a cycle the rate is still to fall") {
  const std::string cyclic = R"(, "schedule": {"@": "sched.cyclic", "up": "10 steps"})";
  for (const std::string& schedule : {restarts, cyclic}) {
    INFO(schedule);
    const Heard heard = heard_of(R"(, "steps": 60, "validate": "10 steps")" + schedule);
    REQUIRE(heard.said.size() == 6);
    for (const Said& one : heard.said) {
      INFO(one.step);
      CHECK(one.rate_falls == (one.step < 60));
      CHECK((one.step < 50 || one.forecast->rate_falls == (one.step < 60)));
    }
  }
}

TEST_CASE("a forecast stops no fit at the bottom of a cycle, and any other") {
  const std::string fit = R"(, "steps": 60, "validate": "2 steps", "stop": {"@": "stop.forecast", "worth": 1000})";
  const Value cycles = heard_of(fit + restarts).summary, constant = heard_of(fit).summary;
  CHECK(cycles["status"] == Value("done"));
  CHECK(cycles["steps"] == Value(60));
  CHECK(constant["status"] == Value("stopped"));
  CHECK(constant["steps"] == Value(20));  // at the tenth validation
}

TEST_CASE("a forecast is of the step at which a budget ends the fit, and after its end of the length") {
  const Heard heard = heard_of(R"(, "steps": 1000, "validate": "10 steps", "schedule": {"@": "sched.cosine"})", 100);
  REQUIRE(heard.said.size() == 10);
  for (const Said& one : heard.said) {
    INFO(one.step);
    CHECK(one.total_steps == 100);
    CHECK_FALSE(one.rate_falls);  // it would, later
    if (one.step < 50) continue;  // too few validations
    CHECK(one.forecast->at == 100);
    CHECK(one.forecast->at_is_estimate == (one.step < 100));
  }
  CHECK(heard.said.back().rate > 0.97 * 0.005);  // the schedule goes by the length
  const Value& forecast = heard.summary["forecast"];
  CHECK(heard.summary["steps"] == Value(100));
  CHECK(forecast["at"] == Value(1000));
  CHECK(forecast["at_is_estimate"] == Value(false));
  CHECK(forecast["rate_falls"] == Value(true));
}

TEST_CASE("a budget that is larger than the length ends no fit") {
  const Heard heard = heard_of(R"(, "steps": 60, "validate": "10 steps")", 100);
  REQUIRE(heard.said.size() == 6);
  for (const Said& one : heard.said) CHECK(one.total_steps == 60);
  CHECK_FALSE(heard.said[4].forecast->at_is_estimate);
  CHECK(heard.summary["status"] == Value("done"));
}

}  // namespace trainlab::forecasts_test

// Parts of a step from figures.
#include <catch2/catch.hpp>

#include <map>
#include <string>

#include "profile/profile.h"

namespace trainlab::shares_test {

namespace {

std::size_t place(Phase phase) { return static_cast<std::size_t>(phase); }

// A step of 10 s without what comes between steps.
Profile profile() {
  Profile profile;
  StepFigures& steps = profile.steps;
  steps.steps = 100;
  steps.mean = 10;
  steps.self[place(Phase::step)] = 1;
  steps.self[place(Phase::fetch)] = 2;
  steps.self[place(Phase::forward)] = 2;
  steps.self[place(Phase::loss)] = 0.5;
  steps.self[place(Phase::backward)] = 3;
  steps.self[place(Phase::optimizer)] = 1;
  steps.self[place(Phase::callback)] = 0.5;
  return profile;
}

std::map<std::string, double> parts(const Profile& profile) {
  std::map<std::string, double> all;
  for (const auto& [name, share] : listed(shares_of(profile)))
    if (share) all.emplace(name, *share);
  return all;
}

double total(const Profile& profile) {
  double sum = 0;
  for (const auto& [name, share] : parts(profile)) sum += share;
  return sum;
}

}  // namespace

TEST_CASE("parts are those of the phases, and their sum is one") {
  std::map<std::string, double> found = parts(profile());
  CHECK(total(profile()) == Approx(1));
  CHECK(found["input"] == Approx(0.2));
  CHECK(found["forward"] == Approx(0.25));
  CHECK(found["backward"] == Approx(0.3));
  CHECK(found["optimizer"] == Approx(0.1));
  CHECK(found["recipe"] == Approx(0.05));
  CHECK(found["other"] == Approx(0.1));
  CHECK(found["checkpoint"] == 0);
  CHECK(found["evaluation"] == 0);
}

TEST_CASE("parts that were not measured are absent, and null in data") {
  Profile one = profile();
  CHECK_FALSE(parts(one).contains("launch_gap"));
  CHECK(profile_value(one, measures_of(one))["shares"]["launch_gap"].is_nil());
  CHECK_THAT(profile_text(one, measures_of(one)),
             Catch::Contains("launch_gap       unknown: operators were not counted"));
  one.steps.counted = 1;
  CHECK(parts(one)["launch_gap"] == 0);

  one.validation.every = 10;
  one.checkpoint.every = 100;
  for (const char* name : {"checkpoint", "evaluation", "metrics"}) {
    INFO(name);
    CHECK_FALSE(parts(one).contains(name));
    CHECK(profile_value(one, measures_of(one))["shares"][name].is_nil());
  }
  CHECK(total(one) == Approx(1));
  const Value value = profile_value(one, measures_of(one));
  CHECK(value["checkpoint"] == Value(Value::Map{{"seconds", Value()}, {"every_steps", 100.0}}));
  CHECK_THAT(profile_text(one, measures_of(one)),
             Catch::Contains("checkpoint       unknown: none came while steps were"));
}

TEST_CASE("the time of operators is in proportion to the timed steps, also where a counted step was interrupted") {
  Profile one = profile();
  StepFigures& steps = one.steps;
  steps.step = {.median = 8, .low = 7, .high = 9};
  steps.counted = 8;
  steps.counted_self = steps.self;
  steps.operators[place(Phase::forward)] = {.calls = 100, .seconds = 1.5};
  steps.operators[place(Phase::backward)] = {.calls = 55, .seconds = 3};
  steps.operators[place(Phase::validate)] = {.calls = 1000, .seconds = 99};
  const Measures quiet = measures_of(one);
  CHECK(*quiet.operators == 155);
  CHECK(*quiet.operators * *quiet.operator_seconds == Approx((1.5 + 3) * 8 / 10));

  steps.counted_self[place(Phase::backward)] += 30;
  steps.operators[place(Phase::backward)].seconds += 30;
  CHECK(*measures_of(one).operator_seconds == Approx(*quiet.operator_seconds));
  steps.operators[place(Phase::forward)].seconds = 50;  // of a call in which the phase ended
  const Measures spoiled = measures_of(one);
  CHECK(*spoiled.operators * *spoiled.operator_seconds <= steps.step.median);
}

TEST_CASE("on a device that works by itself, the parts are those of the steps in which it was waited for") {
  // While the host asks for work it waits for nothing: where its clock finds the time says little.
  Profile one = profile();
  StepFigures& steps = one.steps;
  steps.awaited = 8;
  const auto set = [&](Phase phase, double asking, double waiting) {
    steps.asking[place(phase)] = asking;
    steps.waiting[place(phase)] = waiting;
  };
  set(Phase::fetch, 0.5, 0);
  set(Phase::forward, 1, 3);
  set(Phase::backward, 1, 6);
  set(Phase::optimizer, 0.5, 0);
  SECTION("the device limits") {
    std::map<std::string, double> found = parts(one);
    CHECK(total(one) == Approx(1));
    CHECK(found["forward"] == Approx(4.0 / 12));
    CHECK(found["backward"] == Approx(7.0 / 12));
    CHECK(found["optimizer"] == Approx(0.5 / 12));
    CHECK(found["launch_gap"] == 0);
  }
  SECTION("what the device does for the recipe's functions is arithmetic") {
    steps.counted_self[place(Phase::callback)] = 1;
    steps.operators[place(Phase::callback)] = {.calls = 10, .seconds = 0.25};
    set(Phase::callback, 4, 4);
    std::map<std::string, double> found = parts(one);
    CHECK(total(one) == Approx(1));
    CHECK(found["recipe"] == Approx(3.0 / 20));
    CHECK(found["forward"] == Approx((4 + 1 + 4.0) / 20));
  }
  SECTION("the host limits: the device waits for work") {
    set(Phase::forward, 4, 1);
    set(Phase::backward, 4, 0);
    set(Phase::optimizer, 1, 0.5);
    std::map<std::string, double> found = parts(one);
    CHECK(total(one) == Approx(1));
    CHECK(found["launch_gap"] == Approx(9.0 / 11));
    CHECK(found["forward"] == Approx(1.0 / 11));
    CHECK(found["backward"] == 0);
    CHECK(found["input"] == Approx(0.5 / 11));
  }
}

TEST_CASE("validations and checkpoints count in proportion") {
  Profile one = profile();
  one.validation = {.seconds = 40, .every = 10};
  one.steps.validation_metrics = 10;
  one.checkpoint = {.seconds = 12, .every = 2};
  CHECK(one.wall() == Approx(20));
  std::map<std::string, double> found = parts(one);
  CHECK(total(one) == Approx(1));
  CHECK(found["evaluation"] == Approx(0.15));
  CHECK(found["metrics"] == Approx(0.05));
  CHECK(found["checkpoint"] == Approx(0.3));
  CHECK(found["backward"] == Approx(0.15));
  one.steps.commit_functions = 8;
  found = parts(one);
  CHECK(total(one) == Approx(1));
  CHECK(found["checkpoint"] == Approx(0.1));
  CHECK(found["recipe"] == Approx((0.5 + 4) / 20));
  one.checkpoint.every.reset();
  CHECK(parts(one)["checkpoint"] == 0);
}

TEST_CASE("calls of operators are the launch gap, at most the phase in which they are called") {
  Profile one = profile();
  one.call_seconds = 0.01;
  one.steps.counted = 8;
  one.steps.operators[place(Phase::forward)] = {.calls = 50, .seconds = 2};
  one.steps.operators[place(Phase::backward)] = {.calls = 1000, .seconds = 3};
  std::map<std::string, double> found = parts(one);
  CHECK(total(one) == Approx(1));
  CHECK(found["launch_gap"] == Approx(0.05 + 0.3));
  CHECK(found["backward"] == Approx(0).margin(1e-12));
  CHECK(found["forward"] == Approx(0.2));
}

TEST_CASE("calls take longer where the thread waits for a core, in proportion to the time that they do not explain") {
  Profile one = profile();
  one.call_seconds = 0.01;
  one.steps.counted = 8;
  one.steps.self = {};
  one.steps.thread = {.seconds = 10, .waited = 5};
  const auto set = [&](Phase phase, double seconds, double calls) {
    one.steps.self[place(phase)] = seconds;
    one.steps.operators[place(phase)].calls = calls;
  };
  SECTION("everywhere alike: a thread that has a core half of the time takes twice as long for a call") {
    set(Phase::forward, 4, 100);
    set(Phase::backward, 6, 150);
    std::map<std::string, double> found = parts(one);
    CHECK(found["launch_gap"] == Approx(0.5));
    CHECK(found["forward"] == Approx(0.2));
    CHECK(found["backward"] == Approx(0.3));
  }
  SECTION("in the optimizer, which has most of the time beyond the calls: a pass is not all calls") {
    set(Phase::backward, 3, 160);
    set(Phase::optimizer, 7, 10);
    std::map<std::string, double> found = parts(one);
    CHECK(total(one) == Approx(1));
    // 5 s of the 8.3 s beyond the calls, of which the backward pass has 1.4.
    const double backward = 3 * 1.6 / (3 - 1.4 * 5 / 8.3), optimizer = 7 * 0.1 / (7 - 6.9 * 5 / 8.3);
    CHECK(found["backward"] == Approx((3 - backward) / 10));
    CHECK(found["launch_gap"] == Approx((backward + optimizer) / 10));
  }
  SECTION("more than there is beyond the calls: all is calls") {
    set(Phase::forward, 10, 700);
    CHECK(parts(one)["launch_gap"] == Approx(1));
  }
}

TEST_CASE("who had the cores is unknown after a time that the kernel's ticks cannot measure") {
  Profile one = profile();
  const auto is_known = [&](double seconds, std::int64_t pieces) {
    one.steps.thread = {.seconds = seconds, .waited = 0.0, .cores = CoreSeconds{.run = seconds}, .pieces = pieces};
    return measures_of(one).core_use.has_value();
  };
  CHECK(is_known(0.06, 1));
  CHECK_FALSE(is_known(0.04, 1));
  CHECK_FALSE(is_known(0.06, 12));
  CHECK(is_known(1, 12));
}

TEST_CASE("operators that functions of the recipe call are no part of the recipe") {
  Profile one = profile();
  one.steps.counted = 8;
  one.steps.counted_self[place(Phase::callback)] = 2;
  one.steps.operators[place(Phase::callback)] = {.calls = 4, .seconds = 1};
  std::map<std::string, double> found = parts(one);
  CHECK(total(one) == Approx(1));
  CHECK(found["recipe"] == Approx(0.025));
  CHECK(found["forward"] == Approx(0.275));
}

TEST_CASE("without a measured step there are no parts") {
  const Profile nothing;
  CHECK(total(nothing) == 0);
  CHECK(judge(measures_of(nothing)).bottleneck == Bottleneck::unknown);
}

}  // namespace trainlab::shares_test

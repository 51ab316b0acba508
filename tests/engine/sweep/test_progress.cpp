// The lines about how far a sweep has come: when they come, and the time that they say is left.
#include <catch2/catch.hpp>

#include <cmath>

#include "study_progress.h"
#include "support/stand_in_device.h"
#include "sweep_support.h"

namespace trainlab::progress_test {

using namespace test;

namespace {

struct Line {
  double at;
  std::string text;
};

// The seconds that a line says are left; NaN where it says nothing of that.
double left_in(const std::string& line) {
  const std::size_t place = line.find(", about ");
  return place == std::string::npos ? std::nan("") : std::stod(line.substr(place + 8));
}

// A sweep with a clock of its own, and all that is said.
struct Watched {
  explicit Watched(const Options& stage) : plan(stage, settings) {
    context = quiet_context(folder.path(), settings);
    context.say = [this](const std::string& text) { lines.push_back({now, text}); };
  }

  TemporaryFolder folder;
  RunSettings settings = test_settings();
  SweepPlan plan;
  StageContext context;
  double now = 1000;
  std::vector<Line> lines;
};

}  // namespace

TEST_CASE("a stack that goes on alone says how long it takes by its own speed") {
  Watched sweep(test::sweep(R"(, "trials": 16, "stack": 8)"));
  Study study = sweep.plan.study();
  StudyProgress progress(sweep.plan, sweep.context, study, [&] { return sweep.now; });
  for (int trial = 0; trial < 16; ++trial) study.ask();
  progress.look();
  const auto report = [&](std::int64_t first, std::int64_t resource) {
    for (std::int64_t trial = first; trial < first + 8; ++trial)
      study.report(trial, {.repeat = 1, .resource = resource, .values = {1.0}});
    progress.show();
  };
  // The first stack validates four times in 80 s, the second meanwhile twice.
  for (int k = 1; k <= 4; ++k) {
    sweep.now += 20;
    if (k % 2 == 0) report(8, k / 2);
    report(0, k);
  }
  CHECK(sweep.lines.empty());
  for (std::int64_t trial = 0; trial < 8; ++trial) study.tell(trial, {1.0});
  progress.show();
  REQUIRE(sweep.lines.size() == 1);
  CHECK(sweep.lines[0].text == "test: 8 of 16 trials, 8 running, best val.loss 1 (trial 0), about 80 s left");
  // Nothing is told anew so soon.
  sweep.now += 20;
  report(8, 3);
  CHECK(sweep.lines.size() == 1);
  sweep.now += 10;
  progress.show();
  REQUIRE(sweep.lines.size() == 2);
  // Three of four validations have taken 110 s.
  CHECK(sweep.lines[1].text == "test: 8 of 16 trials, 8 running, best val.loss 1 (trial 0), about 37 s left");
  sweep.now += 10;
  report(8, 4);
  for (std::int64_t trial = 8; trial < 16; ++trial) study.tell(trial, {2.0});
  progress.show();
  REQUIRE(sweep.lines.size() == 3);
  CHECK(sweep.lines[2].text == "test: 16 of 16 trials, best val.loss 1 (trial 0)");
}

TEST_CASE("trials that have not begun come in rounds of as many as run at a time") {
  Watched sweep(test::sweep(R"(, "trials": 10, "stack": false)"));
  Study study = sweep.plan.study();
  StudyProgress progress(sweep.plan, sweep.context, study, [&] { return sweep.now; });
  for (int round = 0; round < 2; ++round) {
    for (int k = 0; k < 4; ++k) study.ask();
    progress.look();
    sweep.now += 60;
    for (std::int64_t trial = 4 * round; trial < 4 * round + 4; ++trial) study.tell(trial, {1.0});
    progress.show();
    REQUIRE(sweep.lines.size() == static_cast<std::size_t>(round) + 1);
    CHECK(left_in(sweep.lines.back().text) == (round == 0 ? 120 : 60));
  }
}

TEST_CASE("a budget of time ends the rounds before the trials do") {
  for (const char* bounds :
       {R"(, "trials": 100, "time": "300 s", "stack": false)", R"(, "time": "300 s", "stack": false)"}) {
    for (const double used : {0.0, 90.0}) {
      Watched sweep(test::sweep(bounds));
      Study study = sweep.plan.study();
      StudyProgress progress(
          sweep.plan, sweep.context, study, [&] { return sweep.now; }, used);
      for (int k = 0; k < 2; ++k) study.ask();
      progress.look();
      sweep.now += 60;
      for (std::int64_t trial = 0; trial < 2; ++trial) study.tell(trial, {1.0});
      progress.show();
      REQUIRE(sweep.lines.size() == 1);
      // Four rounds of 60 s begin in 240 s, and three in 150 s, the last of which goes on beyond them.
      CHECK(left_in(sweep.lines.back().text) == (used == 0 ? 240 : 180));
    }
  }
}

TEST_CASE("a worker says how far its last stack has come") {
  Watched* watched = nullptr;
  // The last trial of each stack tells that a validation of the stack has taken 40 s.
  const Events events{.validate = [&](std::int64_t trial) { watched->now += trial == 7 || trial == 11 ? 40 : 0; }};
  Watched sweep(test::sweep(R"(, "trials": 12, "stack": 8)", events));
  watched = &sweep;
  prepare_devices();
  prepare_arithmetic(1);
  SpeedTotal speed(nullptr, {});
  Worker(sweep.plan, sweep.context, speed, [&] { return sweep.now; }).run();
  const double end = sweep.now;
  std::vector<Line> alone;
  for (const Line& line : sweep.lines) {
    if (line.text.starts_with("test: 8 of 12 trials, 4 running")) alone.push_back(line);
  }
  REQUIRE(alone.size() == 4);
  for (const Line& line : alone) {
    INFO(line.at << " of " << end << ": " << line.text);
    CHECK(left_in(line.text) == end - line.at);
  }
  CHECK(sweep.lines.back().text.starts_with("test: 12 of 12 trials, best "));
}

}  // namespace trainlab::progress_test

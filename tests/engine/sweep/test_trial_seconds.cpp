// What a trial will take, by the trials before it, and the trials of a scheduler that do not end in time.
#include <catch2/catch.hpp>

#include <vector>

#include "study/ranking.h"
#include "sweep_support.h"
#include "trial_seconds.h"

namespace trainlab::trial_seconds_test {

using namespace test;

TEST_CASE("a trial is expected to take as long as the longest of its length, or in proportion to shorter ones") {
  TrialSeconds known;
  CHECK(known.expected(1) == 0);
  CHECK(known.longest() == 0);
  known.add(2, 8);
  known.add(2, 10);
  known.add(2, 9);
  CHECK(known.expected(2) == 10);
  CHECK(known.expected(6) == 30);
  CHECK(known.expected(1) == 10);  // nothing shorter is known
  known.add(6, 24);
  CHECK(known.expected(6) == 24);
  CHECK(known.expected(18) == 72);
  CHECK(known.expected(4) == 20);
  CHECK(known.expected(2) == 10);
  known.add(18, 1);  // it has failed
  CHECK(known.expected(18) == 24);
  CHECK(known.longest() == 24);
}

namespace {

// Four trials of one validation, which takes 10 s, and one that goes on to the fourth; `slow`: seconds of its
// validations.
struct Rungs {
  explicit Rungs(double budget, double slow = 10) : last(slow) {
    prepare_devices();
    prepare_arithmetic(1);
    context.seconds_left = [this, until = now + budget] { return until - now; };
    CHECK(worker.run() == Worker::End::complete);
  }

  std::int64_t until(std::int64_t trial) const { return worker.study().study().segment(trial).until; }

  double now = 1000, last;
  TemporaryFolder folder;
  RunSettings settings = test_settings();
  StageContext context = quiet_context(folder.path(), settings);
  SweepPlan plan{sweep(R"(, "trials": 5, "stack": false,
                         "scheduler": {"@": "scheduler.halving", "configurations": 4, "min": 1, "reduction": 4})",
                       {.validate = [this](std::int64_t trial) { now += trial < 4 ? 10 : last; }}),
                 settings};
  SpeedTotal speed{nullptr, {}};
  Worker worker{plan, context, speed, [this] { return now; }};
};

}  // namespace

TEST_CASE("a trial of a longer rung begins if half of its time is left in proportion to its length") {
  SECTION("there is no time for half of three validations") {
    const Rungs rungs(40 + 13);
    CHECK(rungs.worker.study().study().trials().size() == 4);
    CHECK(rungs.worker.stopped() == "the time budget is used");
    CHECK(rungs.now == 1040);
  }
  SECTION("there is") {
    const Rungs rungs(40 + 35);
    CHECK(rungs.worker.study().study().trials().count(TrialState::complete) == 5);
    CHECK_FALSE(rungs.worker.stopped());
    CHECK(rungs.until(4) == 4);
  }
}

TEST_CASE("a trial of a longer rung that is cut short is as long as it has trained") {
  const Rungs rungs(40 + 35, 20);
  const Study& study = rungs.worker.study().study();
  CHECK(study.trials().count(TrialState::complete) == 5);
  // The second validation of 20 s ended too late, and no third one began.
  CHECK(rungs.until(4) == 3);
  CHECK(rungs.until(0) == 1);
  CHECK(study.best() == 4);
  CHECK(leaderboard(rungs.worker.study().stored(), false).front() == 4);
}

}  // namespace trainlab::trial_seconds_test

// Which trials a budget of FLOPs allows, and how much each may use, by the costs of those before it.
#include <catch2/catch.hpp>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "core/files.h"
#include "study_home.h"
#include "study_summary.h"
#include "sweep_support.h"
#include "trials/trial_flops.h"
#include "trials/trial_folder.h"

namespace trainlab::trial_flops_test {

using namespace test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// A study whose trials are begun and ended by hand: trial k is planned to use the FLOPs planned[k].
struct HandStudy {
  explicit HandStudy(double most, std::vector<double> costs, int workers = 1)
      : planned(std::move(costs)),
        study(open_study(plan, context, find_home(plan, context))),
        flops(most, workers, study,
              [this](std::int64_t trial) { return planned.at(static_cast<std::size_t>(trial)); }) {}

  Lease begin() {
    const SharedStudy::Asked asked = study.ask(0, 1e12, 1000);
    study.follow();
    return asked.lease.value();
  }
  void end(const Lease& lease, double used, const Value& parent = {}) {
    study.end({{lease, TrialState::complete, {1}, Value::Map{{"flops", used}, {"parent", parent}}}});
    study.follow();
  }
  void lose(const Lease& lease) {
    study.storage().lose(lease);
    study.follow();
  }

  std::vector<double> planned;
  TemporaryFolder folder;
  RunSettings settings = test_settings();
  StageContext context = quiet_context(folder.path(), settings);
  SweepPlan plan{sweep(R"(, "trials": 1000)"), settings};
  SharedStudy study;
  TrialFlops flops;
};

}  // namespace

TEST_CASE("without a budget of FLOPs each trial may begin, and use what it wants") {
  HandStudy hand(infinity, {100, infinity});
  hand.begin();
  hand.begin();
  CHECK(hand.flops.most_trials() == std::numeric_limits<std::int64_t>::max());
  CHECK(hand.flops.cap(0) == infinity);
  CHECK(hand.flops.cap(1) == infinity);
  CHECK_FALSE(hand.flops.are_used());
}

TEST_CASE("a trial begins if as much is left as the largest before it uses") {
  HandStudy hand(1000, {100, 300, 400});
  for (const double used : {100.0, 300.0}) {
    CHECK(hand.flops.most_trials() == hand.study.study().trials().size() + 1);
    hand.end(hand.begin(), used);
  }
  CHECK(hand.flops.most_trials() == 3);  // 600 are left, and 300 were the most
  const Lease last = hand.begin();
  CHECK(hand.flops.fits(2));
  CHECK(hand.flops.most_trials() == 3);  // 200 will be left
  CHECK_FALSE(hand.flops.are_used());    // but the trial that runs may use less
  SECTION("none after the whole of it") {
    hand.end(last, 400);
    CHECK(hand.flops.most_trials() == 3);
    CHECK(hand.flops.are_used());
  }
  SECTION("one more after a trial that was ended early") {
    hand.end(last, 50);
    CHECK(hand.flops.most_trials() == 4);
    CHECK_FALSE(hand.flops.are_used());
  }
}

TEST_CASE("beside a trial that runs, what it is planned to use is not left, also where it is more than a part") {
  HandStudy hand(1000, {800, 800, 100}, 2);
  const Lease first = hand.begin();
  CHECK(hand.flops.most_trials() == 1);  // 200 will be left
  hand.end(first, 300);                  // pruned
  CHECK(hand.flops.most_trials() == 2);
  hand.begin();
  CHECK(hand.flops.cap(1) == 700);
  CHECK(hand.flops.most_trials() == 2);
}

TEST_CASE("a trial that is planned to use more than is left may use what is left by those before it") {
  HandStudy hand(1000, {100, 700, 500, 50});
  hand.end(hand.begin(), 100);
  const Lease second = hand.begin();
  hand.begin();
  CHECK(hand.flops.cap(1) == infinity);
  CHECK(hand.flops.cap(2) == 200);  // beside the second, which runs and is planned to use 700
  CHECK_FALSE(hand.flops.fits(2));
  hand.begin();
  CHECK(hand.flops.cap(2) == 200);  // later trials change nothing
  CHECK(hand.flops.cap(3) == -300);
  hand.end(second, 300);  // pruned
  CHECK(hand.flops.cap(2) == infinity);
}

TEST_CASE("a trial that was killed gets the same answer when it is begun again") {
  HandStudy hand(1000, {600, 700});
  hand.end(hand.begin(), 600);
  const Lease cut = hand.begin();
  CHECK(hand.flops.cap(1) == 400);
  hand.lose(cut);
  CHECK(hand.flops.most_trials() == 2);  // it waits, and no other trial comes before it
  CHECK_FALSE(hand.flops.are_used());
  const Lease again = hand.begin();
  CHECK(again.trial == 1);
  CHECK(hand.flops.cap(1) == 400);
  hand.end(again, 390);
  CHECK(hand.flops.are_used());
}

TEST_CASE("trials that time alone ends have equal parts, one for each worker") {
  HandStudy hand(1000, {infinity, infinity, infinity}, 2);
  const Lease first = hand.begin();
  CHECK(hand.flops.most_trials() == 2);
  hand.begin();
  CHECK(hand.flops.cap(0) == 500);
  CHECK(hand.flops.cap(1) == 500);
  CHECK(hand.flops.most_trials() == 2);
  hand.end(first, 200);
  hand.begin();
  CHECK(hand.flops.cap(2) == 300);  // 200 used, and 500 beside it
}

TEST_CASE("what a trial has taken over from its parent counts once") {
  HandStudy hand(1000, {200, 300, 300});
  hand.end(hand.begin(), 200);
  hand.end(hand.begin(), 500, 0);  // 200 of these are its parent's
  hand.begin();
  CHECK(hand.flops.fits(2));
  CHECK(hand.flops.most_trials() == 3);  // 200 are left
  const TemporaryFolder folder;
  CHECK(flops_of(hand.study, folder.path()) == 500);
}

TEST_CASE("what a trial under way has trained before it was interrupted counts") {
  HandStudy hand(1000, {200, 300});
  hand.end(hand.begin(), 200);
  const Lease interrupted = hand.begin();
  const TemporaryFolder folder;
  const TrialFolder trial(folder.path(), 1);
  for (const std::int64_t repeat : {1, 2}) {
    const std::filesystem::path of_repeat = trial.under_way(interrupted.attempt, repeat);
    make_directories(of_repeat);
    write_atomic(of_repeat / "summary.json", repeat == 1 ? R"({"status": "interrupted", "flops": 70.0})" : "damaged");
  }
  CHECK(flops_of(hand.study, folder.path()) == 270);
}

namespace {

// The FLOPs of an epoch of a trial, which has four.
double flops_of_epoch() {
  const TemporaryFolder folder;
  double flops = 0;
  work(sweep(R"(, "trials": 1)"), folder.path(),
       [&](const SharedStudy& study) { flops = study.stored(0).info["flops"].number() / 4; });
  return flops;
}

// Raises the error in the validation of this number of a trial.
Events failing(std::int64_t validation, const std::function<bool(std::int64_t trial)>& fails, const Error& error) {
  return {.validate = [=, last = std::int64_t{-1}, seen = std::int64_t{0}](std::int64_t trial) mutable {
    seen = trial == last ? seen + 1 : 1;
    last = trial;
    if (fails(trial) && seen == validation) throw Error(error);
  }};
}

}  // namespace

TEST_CASE("trials that errors end use the FLOPs of their steps until then") {
  const double epoch = flops_of_epoch();
  const Error error = GENERATE(recipe_error("no such luck"), run_error("no memory").lacking_memory());
  const std::int64_t validation = GENERATE(1, 4);
  const TemporaryFolder folder;
  const Events events = failing(
      validation, [](std::int64_t) { return true; }, error);
  work(sweep(R"(, "trials": 40, "stack": false, "max_failures": 40)", events), folder.path(),
       [&](const SharedStudy& study) {
         const Trials& trials = study.study().trials();
         CHECK(trials.count(TrialState::failed) == trials.size());
         CHECK(trials.size() == 12 / validation);
         CHECK(study.stored(0).info["flops"].number() == Approx(static_cast<double>(validation) * epoch));
         CHECK(flops_of(study, folder.path()) == Approx(12 * epoch));
       },
       {.most_flops = 12.5 * epoch});
}

TEST_CASE("a trial that fails after it has gone on from another one has used its own steps") {
  const double epoch = flops_of_epoch();
  const TemporaryFolder folder;
  const std::string halving =
      R"(, "stack": false, "scheduler": {"@": "scheduler.halving", "configurations": 4, "min": 2, "reduction": 2})";
  const Events events = failing(
      1, [](std::int64_t trial) { return trial == 4; }, recipe_error("no such luck"));
  work(sweep(halving + R"(, "trials": 5)", events), folder.path(), [&](const SharedStudy& study) {
    CHECK(study.study().trials().state(4) == TrialState::failed);
    CHECK(study.stored(4).info["flops"].number() == Approx(3 * epoch));
    CHECK(own_flops(study, study.stored(4)) == Approx(epoch));
    CHECK(flops_of(study, folder.path()) == Approx((4 * 2 + 1) * epoch));
  });
}

}  // namespace trainlab::trial_flops_test

// The confirmation of a search: which trials are trained again, on which seeds, and what is quoted of them.
#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <span>

#include "confirm.h"
#include "core/clock.h"
#include "core/files.h"
#include "run/folder.h"
#include "study_summary.h"
#include "support/stand_in_device.h"
#include "sweep_support.h"

namespace trainlab::confirm_test {

using namespace test;
namespace fs = std::filesystem;

namespace {

const std::string three = R"(, "stack": false, "confirm": {"top": 3, "seeds": 2})";

// The summary of a sweep in `folder`. `between` is called when the search has ended.
Value searched(const Options& stage, const fs::path& folder, const std::function<void()>& between = {},
               const std::function<double()>& clock = steady_seconds, const std::function<double()>& seconds_left = {},
               SpeedTotal* total = nullptr) {
  prepare_devices();
  prepare_arithmetic(1);
  const RunSettings settings = test_settings();
  const SweepPlan plan(stage, settings);
  StageContext context = quiet_context(folder, settings);
  context.supervisor = "here:1";
  context.seconds_left = seconds_left;
  SpeedTotal own(nullptr, {});
  Worker search(plan, context, total ? *total : own, clock);
  search.run();
  Value summary = sweep_summary(plan, search.study(), search.stopped(), folder);
  if (between) between();
  confirm(plan, search, context, summary);
  return summary;
}

std::vector<std::int64_t> confirmed_trials(const Value& summary) {
  std::vector<std::int64_t> all;
  for (const Value& one : summary["confirmed"].list()) all.push_back(one["trial"].integer());
  return all;
}

Value fits_in(const fs::path& folder) { return read_json(folder / "confirm/fits.json")["fits"]; }

double mean(const Value::List& values) {
  double sum = 0;
  for (const Value& one : values) sum += one.number();
  return sum / static_cast<double>(values.size());
}

}  // namespace

TEST_CASE("the best trials of a search are trained again on fresh seeds, and only these are quoted") {
  const TemporaryFolder folder;
  std::vector<double> values;
  const Options stage = sweep(R"(, "trials": 6)" + three);
  const Value summary = searched(stage, folder.path());
  work(stage, folder.path(), [&](const SharedStudy& study) {
    for (std::int64_t t = 0; t < 6; ++t) values.push_back(study.study().trials().value(t));
  });
  std::vector<std::int64_t> best(6);
  std::iota(best.begin(), best.end(), 0);
  std::ranges::sort(best, {}, [&](std::int64_t t) { return values[static_cast<std::size_t>(t)]; });
  best.resize(3);
  std::vector<std::int64_t> confirmed = confirmed_trials(summary);
  CHECK(std::ranges::is_permutation(confirmed, best));

  double before = 0;
  for (const Value& one : summary["confirmed"].list()) {
    const auto trial = static_cast<std::size_t>(one["trial"].integer());
    const Value::List& seeds = one["seed_values"].list();
    INFO(trial);
    REQUIRE(seeds.size() == 2);
    CHECK(one["observed"] == Value(values[trial]));
    CHECK(one["value"].number() == Approx(mean(seeds)));
    CHECK(one["interval"].number() == Approx(12.7062 * std::abs(seeds[0].number() - seeds[1].number()) / 2));
    CHECK(one["failed"] == Value(0));
    const double together = (values[trial] + seeds[0].number() + seeds[1].number()) / 3;
    CHECK(together >= before);  // smaller is better, and comes first
    before = together;
  }
  const Value& first = summary["confirmed"].list().front();
  for (const char* name : {"trial", "params", "value", "interval", "observed"})
    CHECK(summary["best"][name] == first[name]);
  CHECK(summary["best"]["seed_values"].is_nil());

  // One seed of all trials comes after the other.
  const Value fits = fits_in(folder.path());
  REQUIRE(fits.list().size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(fits.list()[i]["trial"] == Value(best[i % 3]));
    CHECK(fits.list()[i]["seed"] == Value(static_cast<std::int64_t>(i / 3 + 1)));
  }
}

TEST_CASE("the figures of speed that notes are about are those of the search and of its confirmation together") {
  const TemporaryFolder folder;
  SpeedTotal total([](const std::string&) {}, {});
  const double at_begin = total.seconds_to_look();
  double after_search = 0;
  const auto between = [&] { after_search = total.seconds_to_look(); };
  searched(sweep(R"(, "trials": 3)" + three), folder.path(), between, steady_seconds, {}, &total);
  CHECK(after_search < at_begin);
  CHECK(total.seconds_to_look() < after_search);
}

TEST_CASE("a trial that fails on a fresh seed is named after those that do not") {
  const TemporaryFolder folder;
  std::int64_t first = -1;
  bool is_search = true;
  const Events events{.validate = [&](std::int64_t trial) {
    if (!is_search && trial == first) throw recipe_error("no such luck");
  }};
  const Options stage = sweep(R"(, "trials": 6)" + three, events);
  work(stage, folder.path(), [&](const SharedStudy& study) { first = *study.study().best(); });
  const Value summary = searched(stage, folder.path(), [&] { is_search = false; });
  CHECK(summary["best"]["trial"] != Value(first));
  const Value& last = summary["confirmed"].list().back();
  CHECK(last["trial"] == Value(first));
  CHECK(last["value"].is_nil());
  CHECK(last["failed"] == Value(2));
}

TEST_CASE("a confirmation that is interrupted goes on, and ends alike") {
  const TemporaryFolder whole, cut;
  const Value expected = searched(sweep(R"(, "trials": 6)" + three), whole.path());
  bool is_search = true;
  int validations = 0;
  const Events events{.validate = [&](std::int64_t) {
    if (!is_search && ++validations == 10) request_stop();
  }};
  const Value interrupted = searched(sweep(R"(, "trials": 6)" + three, events), cut.path(), [&] { is_search = false; });
  clear_stop_request();
  CHECK(interrupted["status"] == Value("interrupted"));
  CHECK(confirmed_trials(interrupted).size() == 2);
  const Value again = searched(sweep(R"(, "trials": 6)" + three), cut.path());
  CHECK(again["confirmed"] == expected["confirmed"]);
  CHECK(again["best"] == expected["best"]);
  CHECK(again["status"] == Value("done"));
}

TEST_CASE("a search that goes on keeps what was confirmed, and confirms what is better now") {
  const TemporaryFolder folder;
  searched(sweep(R"(, "trials": 4)" + three), folder.path());
  const Value before = fits_in(folder.path());
  const Value summary = searched(sweep(R"(, "trials": 12)" + three), folder.path());
  const Value after = fits_in(folder.path());
  REQUIRE(after.list().size() > before.list().size());
  CHECK(std::ranges::equal(before.list(), std::span(after.list()).first(before.list().size())));
  CHECK(summary["confirmed"].list().size() > 3);
  std::int64_t trainings = 0;
  for (const Value& one : summary["confirmed"].list()) trainings += std::ssize(one["seed_values"].list());
  CHECK(trainings == std::ssize(after.list()));
}

TEST_CASE("a confirmation has the last third of the sweep's time") {
  const TemporaryFolder folder;
  std::atomic<double> now = 1000;  // which the thread that saves the time reads, too
  // Each fit validates four times, and takes 40 s.
  const Events events{.validate = [&](std::int64_t) { now += 10; }};
  const auto clock = [&] { return now.load(); };
  SECTION("of its own") {
    const Value summary = searched(sweep(R"(, "time": "290 s")" + three, events), folder.path(), {}, clock);
    CHECK(summary["trials"]["complete"] == Value(5));  // begun within two thirds
    // Begun before 290 s had passed.
    REQUIRE(summary["confirmed"].list().size() == 3);
    for (const Value& one : summary["confirmed"].list()) CHECK(one["seed_values"].list().size() == 1);
    CHECK(summary["status"] == Value("stopped"));
    CHECK(now == 1320);
  }
  SECTION("and in the budget of its run no training begins that would end too late") {
    const Value summary =
        searched(sweep(R"(, "trials": 4)" + three, events), folder.path(), {}, clock, [&] { return 1290 - now; });
    CHECK(summary["trials"]["complete"] == Value(4));
    CHECK(now == 1280);  // 4 and 3 trainings
    CHECK(summary["best"]["observed"].is_number());
    CHECK(summary["best"]["interval"].is_nil());
    CHECK(summary["reason"] == Value("the time budget is used"));
  }
}

TEST_CASE("a search keeps a third of its budget for the confirmation, or what the confirmation will probably take") {
  const auto kept = [](const std::string& more, const TrialSeconds& trials) {
    return seconds_at_end(SweepPlan(sweep(R"(, "trials": 100, "seeds": 2)" + more), test_settings()), 300, trials);
  };
  const std::string twelve = R"(, "confirm": {"top": 3, "seeds": 4})";
  CHECK(kept(twelve, {}) == Approx(100));
  // 12 trainings, of which a trial has two; three of the longest trials, and 2 % of the time.
  CHECK(kept(twelve, {.by_length = {{1, 5}}, .whole = 2}) == Approx(12 + 15 + 6));
  CHECK(kept(twelve + R"(, "workers": 5)", {.by_length = {{1, 5}}, .whole = 2}) == Approx(3 + 15 + 6));
  CHECK(kept(twelve, {.by_length = {{1, 50}}, .whole = 20}) == Approx(100));
  CHECK(kept("", {.by_length = {{1, 5}}, .whole = 2}) == 0);
}

TEST_CASE("trials that took over a result, and those on which others go on, do not tell how long a whole trial takes") {
  const auto seconds_with = [](const std::string& more, const Value& info) {
    const TemporaryFolder folder;
    prepare_devices();
    const RunSettings settings = test_settings();
    const SweepPlan plan(sweep(R"(, "trials": 9)" + more), settings);
    const StageContext context = quiet_context(folder.path(), settings);
    SharedStudy study = open_study(plan, context, find_home(plan, context));
    const std::optional<Lease> lease = study.ask(0, 1e12, 9).lease;
    study.end({{*lease, TrialState::complete, {1.0}, info}});
    study.follow();
    return seconds_of_trials(study);
  };
  CHECK(seconds_with("", Value::Map{{"seconds", 40.0}}).whole == 40);
  CHECK(seconds_with("", Value::Map{{"seconds", 0.0}, {"duplicate_of", 0}}).whole == 0);
  const std::string rungs = R"(, "scheduler": {"@": "scheduler.asha", "min": 1, "max": 4})";
  CHECK(seconds_with(rungs, Value::Map{{"seconds", 10.0}}).whole == 0);
  CHECK(seconds_with(rungs, Value::Map{{"seconds", 10.0}}).longest() == 10);
}

TEST_CASE("without a training on a fresh seed the search's own best trial stays") {
  const TemporaryFolder folder;
  bool is_search = true;
  const Events events{.validate = [&](std::int64_t) {
    if (!is_search) throw recipe_error("no such luck");
  }};
  const Value summary = searched(sweep(R"(, "trials": 3)" + three, events), folder.path(), [&] { is_search = false; });
  CHECK(summary["best"]["observed"].is_nil());
  CHECK(summary["best"]["value"].is_number());
  CHECK(summary["confirmed"].list().size() == 3);
}

TEST_CASE("a damaged list of what is confirmed is named") {
  const TemporaryFolder folder;
  const Options stage = sweep(R"(, "trials": 3)" + three);
  searched(stage, folder.path());
  for (const char* text : {"[]", R"({"fits": [{"trial": 0, "seed": 1, "point": []}]})", R"({"fits": [{}]})"}) {
    INFO(text);
    write_atomic(folder.path() / "confirm/fits.json", text);
    CHECK_THAT(error_of([&] { searched(stage, folder.path()); }), Catch::Contains("fits.json"));
  }
}

}  // namespace trainlab::confirm_test

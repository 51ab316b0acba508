// A worker in this process: trials that fail, trials whose repeats would be run in vain, and trials that continue
// others.
#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <thread>

#include "core/files.h"
#include "core/temporaries.h"
#include "journal/checkpoint.h"
#include "study_summary.h"
#include "support/stand_in_device.h"
#include "sweep_support.h"

namespace trainlab::worker_test {

using namespace test;
namespace fs = std::filesystem;

namespace {

const std::string halving =
    R"(, "stack": false, "scheduler": {"@": "scheduler.halving", "configurations": 4, "min": 2, "reduction": 2})";

fs::path checkpoints_of(const fs::path& sweep, std::int64_t trial, const std::string& below = "seed-1") {
  return sweep / "trials" / ("000" + std::to_string(trial)) / below / "checkpoints";
}

// Writes something else into the files of this ending. In new files: trials share the bytes of a checkpoint.
void damage(const fs::path& checkpoints, const std::string& begin, const std::string& ending) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(checkpoints)) {
    if (entry.path().filename().string().starts_with(begin) && entry.path().extension() == ending)
      files.push_back(entry.path());
  }
  CHECK_FALSE(files.empty());
  for (const fs::path& file : files) write_atomic(file, "damaged");
}

double fifth_value(const fs::path& folder) {
  double value = 0;
  work(sweep(halving + R"(, "trials": 5)"), folder, [&](const SharedStudy& study) {
    CHECK(study.study().trials().state(4) == TrialState::complete);
    value = study.study().trials().value(4);
  });
  return value;
}

// Without temporary files, which another thread may take away at any moment.
void copy_files(const fs::path& from, const fs::path& to) {
  for (const auto& entry : fs::recursive_directory_iterator(from)) {
    const fs::path copy = to / entry.path().lexically_relative(from);
    if (entry.is_directory()) {
      fs::create_directory(copy);
    } else if (!is_temporary(entry.path())) {
      fs::copy(entry.path(), copy);
    }
  }
}

double undisturbed_fifth_value() {
  const TemporaryFolder folder;
  return fifth_value(folder.path());
}

}  // namespace

TEST_CASE("a trial of a stack that raises fails alone, and the others end as if it had not been there") {
  const TemporaryFolder with, without;
  std::vector<double> values;
  work(sweep(R"(, "trials": 6, "stack": 8)"), without.path(), [&](const SharedStudy& study) {
    for (std::int64_t t = 0; t < 6; ++t) values.push_back(study.study().trials().value(t));
    CHECK(study.stored(0).info["ran"] == Value("stack of 6"));
  });
  const auto raise = [](std::int64_t trial) {
    if (trial == 2) throw recipe_error("no such luck");
  };
  work(sweep(R"(, "trials": 6, "stack": 8)", {.validate = raise}), with.path(), [&](const SharedStudy& study) {
    for (std::int64_t t = 0; t < 6; ++t) {
      INFO(t);
      CHECK(study.study().trials().state(t) == (t == 2 ? TrialState::failed : TrialState::complete));
      if (t != 2) CHECK(study.study().trials().value(t) == values[static_cast<std::size_t>(t)]);
    }
    CHECK_THAT(study.stored(2).info["reason"].string(), Catch::Contains("no such luck"));
  });
}

TEST_CASE("trials of a stack that is split before its first checkpoint begin without a word of damage") {
  const TemporaryFolder folder;
  bool is_first = true;
  const auto fail_once = [&is_first](std::int64_t) {
    if (std::exchange(is_first, false)) throw run_error("the device was busy");
  };
  const auto check = [](const SharedStudy& study) {
    CHECK(study.study().trials().count(TrialState::complete) == 4);
    CHECK(study.stored(0).info["ran"] == Value("alone"));
  };
  const std::string said = work(sweep(R"(, "trials": 4, "stack": 8)", {.checkpoint = fail_once}), folder.path(), check);
  CHECK_FALSE(is_first);
  CHECK_THAT(said, !Catch::Contains("there is no checkpoint"));
}

TEST_CASE("the repeats of a trial end when all so far are worse than all of the best trial's") {
  const TemporaryFolder folder;
  work(sweep(R"(, "trials": 2, "seeds": 8, "stack": false, "enqueue": [{"lr": 0.5}, {"lr": 1e-6}])"), folder.path(),
       [&](const SharedStudy& study) {
         CHECK(study.study().trials().state(0) == TrialState::complete);
         CHECK(study.study().trials().state(1) == TrialState::pruned);
         // One order of C(8 + 2, 2) = 45 is less likely than one in ten; one of C(8 + 1, 1) = 9 is not.
         CHECK_THAT(study.stored(1).info["reason"].string(),
                    Catch::Contains("hopeless: all of its 2 repeats are worse than all of trial 0's"));
         CHECK(fs::exists(folder.path() / "trials/0001/seed-2"));
         CHECK_FALSE(fs::exists(folder.path() / "trials/0001/seed-3"));
       });
}

TEST_CASE("a trial continues its parent, and a parent without a checkpoint is an error") {
  const TemporaryFolder folder;
  std::int64_t best = -1;
  work(sweep(halving + R"(, "trials": 4)"), folder.path(),
       [&](const SharedStudy& study) { best = *study.study().best(); });
  const fs::path parent = folder.path() / "trials" / ("000" + std::to_string(best)) / "seed-1",
                 away = folder.path() / "away";
  fs::rename(parent, away);
  const Options more = sweep(halving + R"(, "trials": 5)");
  CHECK_THAT(
      error_of([&] { work(more, folder.path()); }),
      Catch::Contains("trial 4 continues trial " + std::to_string(best) + ", but there is no complete checkpoint in"));
  fs::rename(away, parent);
  work(more, folder.path(), [&](const SharedStudy& study) {
    CHECK(study.stored(4).info["parent"] == Value(best));
    CHECK(study.study().trials().value(4) < study.study().trials().value(best));
  });
}

TEST_CASE("a trial continues the older checkpoint of its parent where the newest one is damaged") {
  const std::string ending = GENERATE(".json", ".safetensors");
  const TemporaryFolder folder;
  std::int64_t best = -1;
  work(sweep(halving + R"(, "trials": 4)"), folder.path(),
       [&](const SharedStudy& study) { best = *study.study().best(); });
  const fs::path parent = checkpoints_of(folder.path(), best), away = folder.path() / "away";
  fs::copy(parent, away);
  damage(parent, "last-000000004", ending);
  SECTION("and ends as if nothing was damaged") { CHECK(fifth_value(folder.path()) == undisturbed_fifth_value()); }
  SECTION("and waits where both are") {
    damage(parent, "last-000000003", ending);
    CHECK_THAT(error_of([&] { fifth_value(folder.path()); }),
               Catch::Contains("trial 4 continues trial " + std::to_string(best) +
                               ", but there is no complete checkpoint in " + parent.string()));
    fs::remove_all(parent);
    fs::rename(away, parent);
    CHECK(fifth_value(folder.path()) == undisturbed_fifth_value());
  }
}

TEST_CASE("a trial all of whose checkpoints are damaged continues its parent again") {
  const TemporaryFolder folder;
  Events events;
  events.validate = [](std::int64_t trial) {
    if (trial == 4) request_stop();
  };
  work(sweep(halving + R"(, "trials": 5)", events), folder.path());
  clear_stop_request();
  const fs::path own = checkpoints_of(folder.path(), 4, "attempt-1/seed-1");
  damage(own, "last-", GENERATE(".json", ".safetensors"));
  CHECK(fifth_value(folder.path()) == undisturbed_fifth_value());
  const Value summary = parse_json(read_file(folder.path() / "trials/0004/seed-1/summary.json"), "summary.json");
  CHECK(summary["resumed"] == Value(Value::List{4}));
}

TEST_CASE("a repeat whose summary is damaged goes on from its last checkpoint") {
  const std::string more = R"(, "trials": 1, "seeds": 2, "stack": false)";
  const auto value = [&](const fs::path& folder, const Events& events, std::string& said) {
    double found = std::nan("");
    said = work(sweep(more, events), folder, [&](const SharedStudy& study) {
      if (study.study().trials().state(0) == TrialState::complete) found = study.study().trials().value(0);
    });
    return found;
  };
  std::string said;
  const TemporaryFolder whole, folder;
  const double expected = value(whole.path(), {}, said);
  int validations = 0;
  Events events;
  events.validate = [&](std::int64_t) {
    if (++validations == 5) request_stop();  // within the second repeat
  };
  value(folder.path(), events, said);
  clear_stop_request();
  const fs::path summary = folder.path() / "trials/0000/attempt-1/seed-1/summary.json";
  REQUIRE(fs::exists(summary));
  write_atomic(summary, GENERATE("", "{", "[]", R"({"status": "done"})"));
  CHECK(value(folder.path(), {}, said) == expected);
  CHECK_THAT(said, Catch::StartsWith("trial 0: damage: ") && Catch::Contains("seed-1/summary.json") &&
                       Catch::Contains("; going on from the last checkpoint\n"));
  CHECK(fs::exists(folder.path() / "trials/0000/seed-1/summary.json"));
}

TEST_CASE("a clone whose parameters do not fit its parent's checkpoint fails alone") {
  const std::string more = R"(, "trials": 16, "scheduler": {"@": "scheduler.pbt", "population": 4})" +
                           GENERATE(std::string(R"(, "stack": false)"), std::string(R"(, "stack": 8)"));
  struct Case {
    std::string space, reason;
  };
  const Case one = GENERATE(Case{R"(, "width": {"@": "space.int", "low": 4, "high": 64})",
                                 "weights and optimizer that this engine cannot restore: expected model.1.weight of "
                                 "shape "},
                            Case{R"(, "val": {"@": "space.uniform", "low": 0.1, "high": 0.5})",
                                 "the data differs from the data of the run so far: "});
  INFO(more << one.space);
  const TemporaryFolder folder;
  work(sweep(more, {}, one.space), folder.path(), [&](const SharedStudy& study) {
    const Trials& trials = study.study().trials();
    REQUIRE(trials.size() == 16);
    CHECK(trials.count(TrialState::failed) > 0);
    for (std::int64_t t = 0; t < trials.size(); ++t) {
      INFO("trial " << t);
      const Value& parent = study.stored(t).info["parent"];
      const bool fits = parent.is_nil() || trials.point(parent.integer())[1] == trials.point(t)[1];
      CHECK(trials.state(t) == (fits ? TrialState::complete : TrialState::failed));
      if (fits) continue;
      CHECK(own_flops(study, study.stored(t)) == 0);
      const std::string reason = study.stored(t).info["reason"].string();
      CHECK_THAT(reason, Catch::StartsWith("this trial's parameters do not fit the checkpoint of trial " +
                                           std::to_string(parent.integer()) + ", with which it begins: "));
      CHECK_THAT(reason, Catch::Contains(one.reason));
      CHECK_THAT(reason, Catch::EndsWith("a clone cannot have parameters that change the model, the optimizer or "
                                         "the data"));
    }
  });
}

TEST_CASE("a clone that has a checkpoint of its own waits for the engine that can restore it") {
  const std::string more =
      R"(, "trials": 4, "stack": false, "scheduler": {"@": "scheduler.pbt", "population": 2, "interval": 2})";
  std::int64_t clone = 0;
  const TemporaryFolder whole, folder;
  work(sweep(more), whole.path(), [&](const SharedStudy& study) {
    clone = study.stored(2).info["parent"] == Value(0) ? 3 : 2;
    CHECK(study.stored(clone).info["parent"] == Value(3 - clone));
  });
  struct Killed {};
  const bool has_own = GENERATE(false, true);
  Events events;
  events.checkpoint = [&, commits = 0](std::int64_t trial) mutable {
    if (trial == clone && commits++ == (has_own ? 1 : 0)) throw Killed();
  };
  CHECK_THROWS_AS(work(sweep(more, events), folder.path()), Killed);
  CheckpointFolder checkpoints(checkpoints_of(folder.path(), clone, "attempt-1/seed-1"), [](const std::string&) {});
  Checkpoint other = checkpoints.newest().value();
  CHECK(other.step == (has_own ? 5 : 4));
  other.info.set("validated_step", "two");
  checkpoints.commit(other);
  if (has_own) {
    CHECK_THAT(
        error_of([&] { work(sweep(more), folder.path()); }),
        Catch::StartsWith("the checkpoint of step 5 has another kind of validated_step than this engine writes"));
  } else {
    work(sweep(more), folder.path(), [&](const SharedStudy& study) {
      for (std::int64_t t = 0; t < 4; ++t)
        CHECK(study.study().trials().state(t) == (t == clone ? TrialState::failed : TrialState::complete));
    });
  }
}

TEST_CASE("a checkpoint that this engine cannot restore ends the sweep with one message, and its trial waits") {
  const std::string more = GENERATE(R"(, "trials": 2, "stack": false)", R"(, "trials": 2, "stack": 8)");
  std::vector<double> expected, values;
  const auto read = [](std::vector<double>& to) {
    return [&to](const SharedStudy& study) {
      for (std::int64_t t = 0; t < study.study().trials().size(); ++t) to.push_back(study.study().trials().value(t));
    };
  };
  const TemporaryFolder whole, folder;
  work(sweep(more), whole.path(), read(expected));
  work(sweep(more, {.validate = [](std::int64_t) { request_stop(); }}), folder.path());
  clear_stop_request();
  CheckpointFolder checkpoints(checkpoints_of(folder.path(), 0, "attempt-1/seed-1"), [](const std::string&) {});
  const Checkpoint written = checkpoints.newest().value();
  Checkpoint other = written;
  if (GENERATE(false, true)) {
    other.info.set("validated_step", "two");
  } else {
    for (auto& [name, tensor] : other.tensors) tensor = tensor.flatten().slice(0, 0, 1).clone();
  }
  checkpoints.commit(other);
  try {
    work(sweep(more), folder.path());
    FAIL("the trial was restored");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    CHECK_THAT(error.message(), Catch::StartsWith("the checkpoint of step 2 has "));
    CHECK(error.hint() == "continue with the engine that wrote the checkpoint, or begin a new run");
  }
  // As the engine that wrote the checkpoint continues the trial.
  CheckpointFolder(checkpoints_of(folder.path(), 0, "attempt-2/seed-1"), [](const std::string&) {}).commit(written);
  work(sweep(more), folder.path(), read(values));
  CHECK(values == expected);
}

TEST_CASE("when its device goes away a sweep ends with one message, no trial has failed, and the sweep goes on") {
  if (test_device().is_cuda()) return;  // the stand-in is not there beside a GPU
  RunSettings settings = test_settings();
  settings.device = "stand_in";
  for (const std::string more : {R"(, "trials": 4, "stack": 4)", R"(, "trials": 3, "seeds": 2, "stack": false)"}) {
    const Options stage = sweep(more);
    const TemporaryFolder whole;
    std::vector<double> values;
    const auto read = [](std::vector<double>& to) {
      return [&to](const SharedStudy& study) {
        const Trials& trials = study.study().trials();
        for (std::int64_t t = 0; t < trials.size(); ++t) {
          CHECK(trials.state(t) == TrialState::complete);
          to.push_back(trials.value(t));
        }
      };
    };
    work(stage, whole.path(), read(values), {.settings = settings});
    int failures = 0;
    for (std::int64_t calls = 0;; calls += 2 * calls + 1) {
      INFO(more << " after " << calls << " calls");
      const TemporaryFolder folder;
      {
        const LostDevice device(calls);
        const std::string error = error_of([&] { work(stage, folder.path(), {}, {.settings = settings}); });
        if (!device.is_gone()) break;
        ++failures;
        CHECK_THAT(error, Catch::Contains("the device has failed: stand-in error: the device is not there any more"));
      }
      std::vector<double> again;
      work(stage, folder.path(), read(again), {.settings = settings});
      CHECK(again == values);
    }
    CHECK(failures > 5);
  }
}

TEST_CASE("the seconds of a process that was killed count in its budget of time") {
  const TemporaryFolder whole, killed;
  prepare_devices();
  prepare_arithmetic(1);
  std::atomic<double> now = 1000;  // which the thread that saves the time reads, too
  const RunSettings settings = test_settings();
  const auto saved = [&] { return read_json(whole.path() / "used-time.json")["seconds"].number(); };
  // Each trial validates four times, and takes 4 s.
  const auto work_until_over = [&](const fs::path& folder, const std::string& supervisor, bool is_killed) {
    const Events events{.validate = [&](std::int64_t trial) {
      now += 1;
      if (!is_killed || trial != 2 || !fs::is_empty(killed.path())) return;
      while (saved() < 9) std::this_thread::yield();  // the time is saved whatever the trial does
      copy_files(whole.path(), killed.path());
    }};
    const SweepPlan plan(sweep(R"(, "time": "10 s", "stack": false)", events), settings);
    StageContext context = quiet_context(folder, settings);
    context.supervisor = supervisor;
    SpeedTotal speed(nullptr, {});
    Worker worker(plan, context, speed, [&] { return now.load(); });
    CHECK(worker.run() == Worker::End::complete);
    CHECK(worker.stopped() == "its own time is used");
    CHECK(worker.study().study().trials().size() == 3);
    return worker.used_seconds().value();
  };
  CHECK(work_until_over(whole.path(), "here:1", true) == 12);
  // The copy is of a process that was killed at the first validation of its third trial, which begins anew.
  CHECK(work_until_over(killed.path(), "here:2", false) == 13);
}

TEST_CASE("a sweep ends in the time that its run gives it") {
  prepare_devices();
  prepare_arithmetic(1);
  const TemporaryFolder folder;
  const RunSettings settings = test_settings();
  double now = 1000;
  // Each fit validates four times, and takes 40 s.
  const Events events{.validate = [&](std::int64_t) { now += 10; }};
  const auto work_for = [&](double seconds, const std::string& more, const std::function<void(const Trials&)>& check) {
    const SweepPlan plan(sweep(R"(, "trials": 9, "stack": false)" + more, events), settings);
    StageContext context = quiet_context(folder.path(), settings);
    context.seconds_left = [&now, until = now + seconds] { return until - now; };
    SpeedTotal speed(nullptr, {});
    Worker worker(plan, context, speed, [&] { return now; });
    CHECK(worker.run() == Worker::End::complete);
    CHECK(worker.stopped() == "the time budget is used");
    check(worker.study().study().trials());
  };
  const auto reports = [](const Trials& trials, std::int64_t trial) {
    std::vector<std::size_t> counts;
    for (const auto& [repeat, all] : trials.repeats(trial)) counts.push_back(all.resources.size());
    return counts;
  };
  using Counts = std::vector<std::size_t>;

  SECTION("no trial begins for which less than half of the time is left that trials take") {
    work_for(95, "", [&](const Trials& trials) {
      CHECK(trials.size() == 2);
      CHECK(trials.count(TrialState::complete) == 2);
      CHECK(reports(trials, 1) == Counts{4});
    });
    CHECK(now == 1080);
  }
  SECTION("a trial begins for which more is left, is cut short, and complete") {
    work_for(105, "", [&](const Trials& trials) {
      CHECK(trials.size() == 3);
      CHECK(trials.count(TrialState::complete) == 3);
      CHECK(reports(trials, 2) == Counts{3});
    });
    CHECK(now == 1110);
  }
  SECTION("the first trial is cut short, and complete") {
    work_for(25, "", [&](const Trials& trials) {
      CHECK(trials.size() == 1);
      CHECK(trials.state(0) == TrialState::complete);
      CHECK(reports(trials, 0) == Counts{3});
    });
  }
  SECTION("the seeds of a trial that is cut short have equal parts of the time") {
    work_for(60, R"(, "seeds": 2)", [&](const Trials& trials) {
      CHECK(trials.size() == 1);
      CHECK(trials.state(0) == TrialState::complete);
      CHECK(reports(trials, 0) == Counts{3, 3});
    });
  }
}

TEST_CASE("no trial begins for which too little time is left by the trials of other processes") {
  prepare_devices();
  prepare_arithmetic(1);
  const TemporaryFolder folder;
  const RunSettings settings = test_settings();
  double now = 1000;
  const SweepPlan plan(sweep(R"(, "trials": 9, "stack": false)"), settings);
  StageContext context = quiet_context(folder.path(), settings);
  {
    SharedStudy before = open_study(plan, context, find_home(plan, context));
    const std::optional<Lease> lease = before.ask(0, 1e12, 9).lease;
    before.end({{*lease, TrialState::complete, {1.0}, Value::Map{{"seconds", 40.0}}}});
  }
  context.seconds_left = [&now, until = now + 15] { return until - now; };
  SpeedTotal speed(nullptr, {});
  Worker worker(plan, context, speed, [&] { return now; });
  CHECK(worker.trial_seconds().longest() == 40);
  CHECK(worker.trial_seconds().whole == 40);
  CHECK(worker.run() == Worker::End::complete);
  CHECK(worker.stopped() == "the time budget is used");
  CHECK(worker.study().study().trials().size() == 1);
}

TEST_CASE("what was measured of a trial that its process has lost counts for no other trial") {
  prepare_devices();
  prepare_arithmetic(1);
  const TemporaryFolder folder;
  const RunSettings settings = test_settings();
  StageContext context = quiet_context(folder.path(), settings);
  context.supervisor = "here:1";
  const SweepPlan* planned = nullptr;
  bool is_held = true;
  const Events events{.validate = [&](std::int64_t) {
    if (!std::exchange(is_held, false)) return;
    const auto storage = find_home(*planned, context).place.open(waiting_of(context));
    storage->open(planned->description(planned->study()));
    storage->revoke_all_but("there:1");
  }};
  const SweepPlan plan(sweep(R"(, "trials": 1, "stack": false, "pruner": {"@": "pruner.median"})", events), settings);
  planned = &plan;
  std::string said;
  context.say = [&said](const std::string& line) { said += line + "\n"; };
  SpeedTotal speed(nullptr, {});
  Worker worker(plan, context, speed, steady_seconds);
  CHECK(worker.run() == Worker::End::complete);
  CHECK_THAT(said, Catch::Contains("trial 0 is no longer leased to "));
  // The attempt that was lost has left the checkpoint of the first of eight steps, with 16 samples each.
  CHECK(worker.study().stored(0).info["speed"]["samples"].integer() == 7 * 16);
}

TEST_CASE("the storage hears of a deadline that moves") {
  prepare_devices();
  prepare_arithmetic(1);
  const TemporaryFolder folder;
  const RunSettings settings = test_settings();
  const StageContext* at_work = nullptr;
  const SweepPlan* planned = nullptr;
  // Whether no trial would begin in 10 s, when the leases of trials that run are valid still.
  const auto is_over_soon = [&] {
    const auto storage = find_home(*planned, *at_work).place.open(waiting_of(*at_work));
    storage->open(planned->description(planned->study()));
    bool is_over = false;
    storage->begin({.name = "asks", .supervisor = ""}, wall_seconds() + 10, [&](const StudyChanges& seen) {
      is_over = seen.is_over;
      return std::optional<Storage::Begin>();
    });
    return is_over;
  };
  double left = 5;
  std::vector<bool> over;
  const Events events{.validate = [&](std::int64_t trial) {
    if (std::ssize(over) > trial) return;
    over.push_back(is_over_soon());
    left = 1000;
  }};
  const SweepPlan plan(sweep(R"(, "trials": 2, "stack": false)", events), settings);
  StageContext context = quiet_context(folder.path(), settings);
  context.seconds_left = [&left] { return left; };
  at_work = &context;
  planned = &plan;
  SpeedTotal speed(nullptr, {});
  Worker worker(plan, context, speed, steady_seconds);
  CHECK(worker.run() == Worker::End::complete);
  CHECK(over == std::vector<bool>{true, false});
}

TEST_CASE("a sweep on a device that is not there is refused before its first trial") {
  if (test_device().is_cuda()) return;
  RunSettings settings = test_settings();
  settings.device = "stand_in:7";
  const TemporaryFolder folder;
  CHECK_THAT(error_of([&] { work(sweep(R"(, "trials": 2)"), folder.path(), {}, {.settings = settings}); }),
             Catch::StartsWith("device stand_in:7 is not there: found 2, the last is stand_in:1"));
  CHECK_FALSE(fs::exists(folder.path() / "trials"));
}

TEST_CASE("a search leaves a third of the budget of time to the stages after it") {
  CHECK(budget_share(sweep(""), false) == Approx(2.0 / 3));
  CHECK(budget_share(sweep(""), true) == 1);
}

}  // namespace trainlab::worker_test

// A trial's files belong to an attempt: what a process does that was stopped for longer than its lease holds, or killed
// at the end of a trial, and the folders of the version that knew no attempts.
#include <catch2/catch.hpp>

#include <map>
#include <set>

#include "core/files.h"
#include "run/stage.h"
#include "sweep_support.h"
#include "trials/trial_folder.h"

namespace trainlab::attempts_test {

using namespace test;
namespace fs = std::filesystem;

namespace {

// The hashes of all files below a folder, by their path in it.
std::map<std::string, std::string> files_below(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    files[entry.path().lexically_relative(folder)] = entry.is_regular_file() ? hash_file(entry.path()) : "folder";
  return files;
}

std::vector<double> values_of(const SharedStudy& study) {
  std::vector<double> values;
  for (std::int64_t t = 0; t < study.study().trials().size(); ++t) {
    CHECK(study.study().trials().state(t) == TrialState::complete);
    values.push_back(study.study().trials().value(t));
  }
  return values;
}

// The values of a sweep that nobody disturbs.
std::vector<double> undisturbed(const Options& stage) {
  const TemporaryFolder folder;
  std::vector<double> values;
  work(stage, folder.path(), [&](const SharedStudy& study) { values = values_of(study); });
  return values;
}

Value summary_of(const fs::path& folder) {
  return parse_json(read_file(folder / "summary.json"), (folder / "summary.json").string());
}

// Runs something before a call, as if the process was stopped there.
class StoppedCalls : public FileCalls {
 public:
  std::function<void(const fs::path& from, const fs::path& to)> before_rename = {};
  std::function<void(const fs::path&)> before_folder = {};
  int rename(const fs::path& from, const fs::path& to) override {
    if (before_rename) before_rename(from, to);
    return FileCalls::rename(from, to);
  }
  int make_directory(const fs::path& path) override {
    if (before_folder) before_folder(path);
    return FileCalls::make_directory(path);
  }
};

}  // namespace

TEST_CASE("a process that was stopped before it wrote leaves its successor's files alone") {
  const std::string more = GENERATE(R"(, "trials": 2, "stack": false)", R"(, "trials": 2, "stack": 8)");
  const bool writes_row = GENERATE(false, true);
  const Options successor = sweep(more);
  const TemporaryFolder folder;
  std::map<std::string, std::string> left;
  int calls = 0;
  const auto stopped_at = [&](int call) {
    return [&, call](std::int64_t trial) {
      if (trial != 0 || ++calls != call) return;
      // Whoever resumes the run ends the leases of its former engines, of which this one goes on after a while.
      work(successor, folder.path(), {}, {.supervisor = "here:2"});
      left = files_below(folder.path() / "trials");
    };
  };
  Events events;
  (writes_row ? events.validate : events.checkpoint) = stopped_at(writes_row ? 2 : 3);
  const std::string said = work(sweep(more, events), folder.path(), [&](const SharedStudy& study) {
    CHECK(values_of(study) == undisturbed(successor));
    CHECK(study.stored(0).attempt == 2);
  });
  CHECK(files_below(folder.path() / "trials") == left);
  // The successor has gone on from the newest checkpoint.
  CHECK(summary_of(folder.path() / "trials/0000/seed-1")["resumed"] == Value(Value::List{writes_row ? 3 : 2}));
  CHECK_THAT(said, Catch::Contains("trial 0 is no longer leased to"));
}

TEST_CASE("trials whose process was killed between their end and the move of their files are whole") {
  const std::string more = GENERATE(R"(, "trials": 3, "stack": 8)", R"(, "trials": 2, "seeds": 2, "stack": false)",
                                    R"(, "trials": 5, "stack": false,
                   "scheduler": {"@": "scheduler.halving", "configurations": 4, "min": 2, "reduction": 2})");
  const Options stage = sweep(more);
  const std::vector<double> expected = undisturbed(stage);
  struct Killed {};
  std::set<fs::path> ends;
  StoppedCalls calls;
  calls.before_rename = [&](const fs::path&, const fs::path& to) {
    if (to.filename().string().starts_with("seed-") && ends.insert(to).second) throw Killed();
  };
  const ScopedFileCalls guard(calls);
  const TemporaryFolder folder;
  std::vector<double> values;
  for (int kills = 0; values.empty(); ++kills) {
    try {
      work(stage, folder.path(), [&](const SharedStudy& study) { values = values_of(study); },
           {.supervisor = "here:" + std::to_string(kills)});
    } catch (const Killed&) {
    }
  }
  CHECK(ends.size() >= values.size());
  CHECK(values == expected);
  for (const fs::path& end : ends) CHECK(summary_of(end)["out"] == Value(end.string()));
  for (const auto& [path, hash] : files_below(folder.path() / "trials")) {
    INFO(path);
    CHECK(path.find("attempt-") == std::string::npos);
  }
}

namespace {

// A sweep whose first trials were interrupted after the first epoch, in the folders of a version without attempts.
void interrupt_without_attempts(const std::string& more, const fs::path& stage) {
  Events events;
  events.validate = [](std::int64_t) { request_stop(); };
  work(sweep(more, events), stage);
  clear_stop_request();
  for (const auto& trial : fs::directory_iterator(stage / "trials")) {
    fs::rename(trial.path() / "attempt-1/seed-1", trial.path() / "seed-1");
    fs::remove(trial.path() / "attempt-1");
  }
}

}  // namespace

TEST_CASE("trials that a version without attempts has begun go on from their checkpoints") {
  const std::string more = GENERATE(R"(, "trials": 2, "stack": false)", R"(, "trials": 2, "stack": 8)");
  const TemporaryFolder folder;
  interrupt_without_attempts(more, folder.path());
  work(sweep(more), folder.path(),
       [&](const SharedStudy& study) { CHECK(values_of(study) == undisturbed(sweep(more))); },
       {.supervisor = "here:2"});
  CHECK(summary_of(folder.path() / "trials/0000/seed-1")["resumed"] == Value(Value::List{2}));
  CHECK_FALSE(fs::exists(folder.path() / "trials/0000/attempt-2"));
}

TEST_CASE("a process that was stopped while it took over a folder without attempts takes no result away") {
  const std::string more = R"(, "trials": 2, "stack": false)";
  const TemporaryFolder folder;
  interrupt_without_attempts(more, folder.path());
  std::map<std::string, std::string> left;
  const auto successor = [&] {
    if (!left.empty()) return;
    left = {{"successor", "at work"}};
    work(sweep(more), folder.path(), {}, {.supervisor = "here:3"});
    left = files_below(folder.path() / "trials");
  };
  StoppedCalls calls;
  if (GENERATE(false, true)) {
    calls.before_folder = [&](const fs::path& path) {
      if (path.filename() == "attempt-2") successor();
    };
  } else {
    calls.before_rename = [&](const fs::path& from, const fs::path&) {
      if (from == folder.path() / "trials/0000/seed-1") successor();
    };
  }
  const ScopedFileCalls guard(calls);
  const std::string said = work(sweep(more), folder.path(),
                                [&](const SharedStudy& study) { CHECK(values_of(study) == undisturbed(sweep(more))); },
                                {.supervisor = "here:2"});
  CHECK(files_below(folder.path() / "trials") == left);
  CHECK_THAT(said, Catch::Contains("trial 0 is no longer leased to"));
}

namespace {

// The folder of a trial in which attempts have left files, each with its number in seed-1.
struct Left {
  TemporaryFolder stage;
  TrialFolder folder{stage.path(), 0};
  void add(std::int64_t attempt, std::int64_t repeat = 1) const {
    make_directories(folder.under_way(attempt, repeat));
    write_atomic(folder.under_way(attempt, repeat) / "metrics.jsonl", std::to_string(attempt));
  }
  std::string found(std::int64_t attempt, std::int64_t repeat = 1) const {
    const fs::path file = folder.under_way(attempt, repeat) / "metrics.jsonl";
    return fs::exists(file) ? read_file(file) : "none";
  }
};

}  // namespace

TEST_CASE("an attempt finds the files that an attempt in between takes over at the same time") {
  const Left left;
  left.add(1);
  StoppedCalls calls;
  bool is_stopped = false;
  calls.before_rename = [&](const fs::path& from, const fs::path&) {
    if (is_stopped || from.filename() != "attempt-1") return;
    is_stopped = true;
    left.folder.take_over(2, [] {});
  };
  const ScopedFileCalls guard(calls);
  left.folder.take_over(3, [] {});
  CHECK(is_stopped);
  CHECK(left.found(3) == "1");
  CHECK(left.found(2) == "none");
}

TEST_CASE("an attempt of a study that was put back to an earlier state finds the files of later attempts") {
  const Left left;
  left.add(4, 1);
  left.add(5, 2);
  bool is_confirmed = false;
  left.folder.take_over(3, [&] { is_confirmed = true; });
  CHECK(is_confirmed);
  CHECK(left.found(3, 1) == "4");
  CHECK(left.found(3, 2) == "5");
  // A process that has lost its lease may come late.
  struct Lost {};
  CHECK_THROWS_AS(left.folder.take_over(2, [] { throw Lost(); }), Lost);
  CHECK(left.found(3, 1) == "4");
  // The files of this number and those before are left.
  left.add(1, 1);
  left.folder.take_over(3, [] {});
  CHECK(left.found(3, 1) == "4");
}

TEST_CASE("a process that comes late takes no files away from an attempt whose number had files already") {
  const Left left;
  left.add(2);
  SECTION("when it comes after the attempt has begun") {
    left.folder.take_over(1, [&] { left.folder.take_over(2, [] {}); });
  }
  SECTION("when it comes while the attempt begins") {
    left.add(1, 2);
    StoppedCalls calls;
    bool is_late = false;
    calls.before_rename = [&](const fs::path& from, const fs::path&) {
      if (is_late || from.filename() != "attempt-1") return;
      is_late = true;
      CHECK(rename_folder(left.folder.under_way(2, 1), left.folder.under_way(1, 1)));
    };
    const ScopedFileCalls guard(calls);
    left.folder.take_over(2, [] {});
    CHECK(is_late);
    CHECK(left.found(2, 2) == "1");
  }
  CHECK(left.found(2) == "2");
  CHECK(left.found(1) == "none");
}

TEST_CASE("a folder that is only named like an attempt's stays as it is") {
  const Left left;
  const std::string name = GENERATE("attempt-old", "attempt-", "attempt-01", "attempt-1 (copy)");
  const fs::path foreign = left.folder.ended(1).parent_path() / name;
  make_directories(foreign / "seed-1");
  left.folder.take_over(2, [] {});
  CHECK(left.found(2) == "none");
  left.add(2);
  left.folder.take_over(3, [] {});
  CHECK(left.found(3) == "2");
  left.folder.settle(3);
  CHECK(fs::exists(left.folder.ended(1)));
  CHECK(fs::exists(foreign / "seed-1"));
}

}  // namespace trainlab::attempts_test

// Snapshots of fits that go on training: what is answered, and that the fit does not change.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>

#include "attach/snapshots.h"
#include "core/clock.h"
#include "core/files.h"
#include "core/trace.h"
#include "journal/recent_work.h"
#include "profile/attach.h"
#include "run/snapshot.h"
#include "support/fit_support.h"
#include "support/last_checkpoint.h"

namespace trainlab::attach_test {

using namespace test;
namespace fs = std::filesystem;

namespace {

// A fit in `folder` that can be attached to; returns its summary.
Value train_in(const fs::path& folder, int steps = 600) {
  const RunSettings settings = cpu_settings();
  prepare_arithmetic(1);
  const Options options = parse_options(digits_fit(R"(, "validate": "100 steps", "steps": )" + std::to_string(steps)));
  const FitPlan plan = plan_fit(options, settings);
  FitMember member{.options = options, .context = quiet_context(folder, settings)};
  FitCompany company;
  attach_addition().join(plan, member, company);
  return run_fits(plan, {&member, 1}, false, company).front();
}

Value answer_in(const fs::path& folder, const std::string& id) {
  return parse_json(read_file(snapshot_answer_path(folder, id)), "answer");
}

std::string snapshot_files(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("snapshot")) names.insert(name);
  }
  std::string all;
  for (const std::string& name : names) all += name + " ";
  return all;
}

// Refuses to give a snapshot's files their names.
class FullDisk final : public FileCalls {
 public:
  int rename(const fs::path& from, const fs::path& to) override {
    if (!to.filename().string().starts_with("snapshot-")) return FileCalls::rename(from, to);
    errno = ENOSPC;
    return -1;
  }
};

// Refuses to make the folder by which a process takes a request.
class NoFolders final : public FileCalls {
 public:
  int make_directory(const fs::path& path) override {
    if (path.extension() != ".taken") return FileCalls::make_directory(path);
    errno = ENOSPC;
    return -1;
  }
};

}  // namespace

TEST_CASE("a fit answers with a profile of its steps, and ends in the same bytes") {
  const TemporaryFolder plain, asked;
  const Value alone = train_in(plain.path());
  CHECK(snapshot_files(plain.path()).empty());
  ask_for_snapshot(asked.path(), {.id = "a1", .seconds = 0.02, .has_trace = true});
  const Value summary = train_in(asked.path());
  CHECK(trace::listener == nullptr);
  CHECK(snapshot_files(asked.path()) == "snapshot-a1.json snapshot-a1.trace ");

  CHECK(summary["metrics"] == alone["metrics"]);
  CHECK(same_tensors(last_checkpoint(asked.path()), last_checkpoint(plain.path())));
  CHECK(rows_without_seconds(asked.path()) == rows_without_seconds(plain.path()));

  const Value answer = answer_in(asked.path(), "a1"), &value = answer["value"];
  CHECK(answer["error"].is_nil());
  CHECK(value["kind"] == Value("snapshot"));
  CHECK(value["stage"] == Value("test"));
  CHECK(value["steps"].integer() > 0);
  CHECK(value["step"].integer() > value["steps"].integer());
  double sum = 0;
  for (const auto& [name, share] : value["shares"].map())
    if (share.is_number()) sum += share.number();
  CHECK(sum == Approx(1));
  CHECK(value["shares"]["launch_gap"].is_number());
  CHECK(value["phase_seconds"]["backward"].number() > 0);
  CHECK(value["operators"]["per_step"].number() > 0);
  for (const auto& [name, figure] : summary["speed"].map()) {
    INFO(name);
    CHECK(value["speed"].map().contains(name));
  }
  CHECK(value["speed"]["shares"]["training"].number() > 0);
  CHECK(answer["text"].string().starts_with(value["verdict"].string() + ": "));
  CHECK(answer["text"].string().find("since this process began to train: training ") != std::string::npos);

  std::set<std::string> names;
  const Value trace = parse_json(read_file(snapshot_trace_path(asked.path(), "a1")), "trace");
  for (const Value& event : trace["traceEvents"].list()) names.insert(event["name"].string());
  for (const char* name : {"step", "forward", "backward", "aten::addmm", "AddmmBackward0"}) {
    INFO(name);
    CHECK(names.contains(name));
  }
}

TEST_CASE("the trace of a snapshot begins with what the thread did before it was asked") {
  const TemporaryFolder earlier, asked;
  const double begun = steady_seconds();
  train_in(earlier.path());
  CHECK(recent_work().after(begun).size() >= 600 + 6);  // steps and validations
  ask_for_snapshot(asked.path(), {.id = "a1", .seconds = 0.02, .has_trace = true});
  train_in(asked.path());
  const Value trace = parse_json(read_file(snapshot_trace_path(asked.path(), "a1")), "trace");
  double first_operator = std::numeric_limits<double>::infinity();
  for (const Value& event : trace["traceEvents"].list())
    if (event["cat"] == Value("operator")) first_operator = std::min(first_operator, event["ts"].number());
  std::map<std::string, int> before;
  for (const Value& event : trace["traceEvents"].list())
    if (event["cat"] == Value("phase") && event["ts"].number() < first_operator) ++before[event["name"].string()];
  CHECK(before["step"] > 600);
  CHECK(before["validate"] >= 6);
  CHECK(before["forward"] <= 1);  // that of the first step whose operators are recorded
}

TEST_CASE("the trace of a snapshot leaves out what came long before it was asked") {
  const TemporaryFolder folder;
  const double now = steady_seconds();
  for (const double seconds : {61.5, 30.0}) {
    recent_work().add({.phase = Phase::commit, .begin = now - seconds, .fetched = now - seconds, .end = now - seconds});
  }
  ask_for_snapshot(folder.path(), {.id = "a1", .seconds = 0.02, .has_trace = true});
  train_in(folder.path());
  const Value trace = parse_json(read_file(snapshot_trace_path(folder.path(), "a1")), "trace");
  std::vector<double> commits;  // in seconds
  double last = 0;
  for (const Value& event : trace["traceEvents"].list()) {
    if (!event["ts"].is_number()) continue;
    last = std::max(last, 1e-6 * event["ts"].number());
    if (event["name"] == Value("commit")) commits.push_back(1e-6 * event["ts"].number());
  }
  REQUIRE_FALSE(commits.empty());
  CHECK(last - std::ranges::min(commits) >= 30);
  CHECK(last - std::ranges::min(commits) < 61.5);
}

TEST_CASE("a fit that ends before the snapshot does answers with the steps that it had") {
  const TemporaryFolder folder;
  ask_for_snapshot(folder.path(), {.id = "a1", .seconds = 1e4, .has_trace = true});
  CHECK(train_in(folder.path(), 15)["status"] == Value("done"));  // too few steps to know their time well
  CHECK(trace::listener == nullptr);
  CHECK(snapshot_files(folder.path()) == "snapshot-a1.json ");
  const Value answer = answer_in(folder.path(), "a1");
  CHECK(answer["value"]["step"] == Value(15));
  CHECK(answer["value"]["steps"].integer() >= few_steps);
  CHECK(answer["value"]["operators"]["per_step"].number() > 0);
  CHECK(answer["value"]["shares"]["launch_gap"].number() > 0);
  CHECK(answer["value"]["verdict"] != Value("unknown"));
}

TEST_CASE("a fit that ends before operators could be counted has no verdict on its passes") {
  const TemporaryFolder folder;
  ask_for_snapshot(folder.path(), {.id = "a1", .seconds = 1e4});
  CHECK(train_in(folder.path(), 8)["status"] == Value("done"));
  const Value answer = answer_in(folder.path(), "a1"), &value = answer["value"];
  CHECK(value["steps"].integer() >= 3);
  CHECK(value["operators"]["per_step"].is_nil());
  CHECK(value["shares"]["launch_gap"].is_nil());
}

TEST_CASE("a fit goes on where its answer cannot be written, and takes the request away") {
  const auto left_after = [](FileCalls&& calls) {
    const TemporaryFolder full;
    ask_for_snapshot(full.path(), {.id = "a1", .seconds = 0.02, .has_trace = true});
    const ScopedFileCalls scoped(calls);
    CHECK(train_in(full.path())["status"] == Value("done"));
    return snapshot_files(full.path());
  };
  CHECK(left_after(FullDisk()).empty());
  CHECK(left_after(NoFolders()).empty());
}

TEST_CASE("a fit goes on where what lies in its folder is no request") {
  const TemporaryFolder left;
  write_atomic(snapshot_request_path(left.path()), "no request");
  CHECK(train_in(left.path())["status"] == Value("done"));
  CHECK(snapshot_files(left.path()) == "snapshot.request ");
}

namespace {

// Steps of a training without spans, until the request is answered; at most five million, which take seconds.
void step_until_answered(Snapshots& snapshots, const fs::path& stage, const std::string& id) {
  for (std::int64_t step = 1; step <= 5'000'000 && !fs::exists(snapshot_answer_path(stage, id)); ++step) {
    snapshots.stepped(step);
    snapshots.passed();
  }
}

}  // namespace

TEST_CASE("whatever error keeps a training from its answer is the answer") {
  const auto answer_of = [](const std::function<void()>& fails) {
    const TemporaryFolder folder;
    ask_for_snapshot(folder.path(), {.id = "a1", .seconds = 0.02});
    Snapshots snapshots({.stage = folder.path(), .has_step_spans = false, .profile = [&](StepFigures) {
                           fails();
                           return Profile();
                         }});
    step_until_answered(snapshots, folder.path(), "a1");
    CHECK(snapshot_files(folder.path()) == "snapshot-a1.json ");
    return answer_in(folder.path(), "a1")["error"].string();
  };
  CHECK(answer_of([] { throw run_error("no figures"); }) == "no figures");
  CHECK(answer_of([] { throw std::runtime_error("no such thing"); }) == "no such thing");
  const std::string torch = answer_of([] { TORCH_CHECK(false, "the sizes differ"); });
  CHECK_THAT(torch, Catch::Contains("the sizes differ"));
  CHECK_THAT(torch, !Catch::Contains("\n"));
}

TEST_CASE("a training that finds nobody waiting after its recording leaves nothing") {
  const TemporaryFolder folder;
  ask_for_snapshot(folder.path(), {.id = "a1", .seconds = 1e4});
  Snapshots snapshots({.stage = folder.path(), .has_step_spans = false});
  snapshots.stepped(1);
  CHECK(snapshot_files(folder.path()) == "snapshot-a1.taken snapshot.request ");
  fs::remove(snapshot_request_path(folder.path()));
  snapshots.finished(2);
  CHECK(snapshot_files(folder.path()).empty());
}

TEST_CASE("a training whose request is taken back while it records takes the next one") {
  const TemporaryFolder folder;
  // Steps without spans are never counted, so that the recording alone would not end.
  Snapshots snapshots({.stage = folder.path()});
  ask_for_snapshot(folder.path(), {.id = "a1", .seconds = 1e4, .has_trace = true});
  snapshots.stepped(1);
  REQUIRE(snapshot_files(folder.path()) == "snapshot-a1.taken snapshot.request ");
  withdraw_snapshot_request(folder.path(), "a1");
  ask_for_snapshot(folder.path(), {.id = "b2"});
  const double longest = steady_seconds() + 60;
  for (std::int64_t step = 2; !fs::exists(folder.path() / "snapshot-b2.taken"); ++step) {
    REQUIRE(steady_seconds() < longest);
    snapshots.stepped(step);
  }
  CHECK(snapshot_files(folder.path()) == "snapshot-b2.taken snapshot.request ");
}

TEST_CASE("a training that has found a request taken answers once it is given back") {
  const TemporaryFolder folder;
  ask_for_snapshot(folder.path(), {.id = "a1", .seconds = 0.02});
  REQUIRE(take_snapshot_request(folder.path(), "a1"));
  Snapshots snapshots(
      {.stage = folder.path(), .has_step_spans = false, .profile = [](StepFigures) { return Profile(); }});
  snapshots.stepped(1);
  give_back_snapshot_request(folder.path(), "a1");
  step_until_answered(snapshots, folder.path(), "a1");
  CHECK(snapshot_files(folder.path()) == "snapshot-a1.json ");
}

TEST_CASE("fits that train together answer once, with the samples of all") {
  const TemporaryFolder stage;
  const RunSettings settings = cpu_settings();
  prepare_arithmetic(1);
  const auto options = [](int seed) {
    return parse_options(digits_fit(R"(, "steps": 300, "seed": )" + std::to_string(seed)));
  };
  const FitPlan plan = plan_fit(options(1), settings);
  ask_for_snapshot(stage.path(), {.id = "a1", .seconds = 0.02});
  std::vector<FitMember> members;
  for (const int seed : {1, 2, 3}) {
    const fs::path folder = stage.path() / std::to_string(seed);
    fs::create_directories(folder);
    members.push_back({.options = options(seed), .context = quiet_context(folder, settings)});
  }
  FitCompany company;
  attach_to_fits(plan, {.stage = stage.path(), .names = "trials 0, 1 and 2 of sweep s", .count = 3}, company);
  CHECK(run_fits(plan, members, true, company).size() == 3);
  CHECK(snapshot_files(stage.path()) == "snapshot-a1.json ");
  const Value answer = answer_in(stage.path(), "a1"), &value = answer["value"];
  CHECK(value["note"] == Value("trials 0, 1 and 2 of sweep s"));
  CHECK(value["speed"].is_nil());
  CHECK(value["samples_per_second"]["median"].number() * value["step_seconds"]["median"].number() ==
        Approx(3 * plan.step_samples()));
  CHECK(answer["text"].string().find("\ntrials 0, 1 and 2 of sweep s, measured while") != std::string::npos);
}

TEST_CASE("another training of the stage answers where an error has left the first") {
  const TemporaryFolder stage;
  const RunSettings settings = cpu_settings();
  const Options options = parse_options(digits_fit(R"(, "steps": 40)"));
  const FitPlan plan = plan_fit(options, settings);
  class Fails final : public LoopObserver {
    void stepped(std::int64_t step) override {
      if (step == 5) throw run_error("no more");
    }
  };
  ask_for_snapshot(stage.path(), {.id = "a1", .seconds = 1e4});
  const auto train = [&](const char* name, bool fails) {
    const fs::path folder = stage.path() / name;
    fs::create_directories(folder);
    const FitMember member{.options = options, .context = quiet_context(folder, settings)};
    FitCompany company;
    attach_to_fits(plan, {.stage = stage.path(), .names = name}, company);
    if (fails) company.observers.push_back(std::make_shared<Fails>());
    run_fits(plan, {&member, 1}, false, company);
  };
  CHECK_THROWS_WITH(train("first", true), Catch::Contains("no more"));
  CHECK(trace::listener == nullptr);
  CHECK(snapshot_files(stage.path()) == "snapshot.request ");
  train("second", false);
  CHECK(answer_in(stage.path(), "a1")["value"]["note"] == Value("second"));
}

TEST_CASE("a snapshot leaves the listener of a step alone that has begun before") {
  class Nobody final : public TraceListener {
    void began(Phase, std::string_view) override {}
    void ended(Phase, std::string_view) noexcept override {}
  };
  const TemporaryFolder folder;
  ask_for_snapshot(folder.path(), {.id = "a1", .seconds = 0.02});
  {
    Nobody nobody;
    const Listening listening(nobody);
    CHECK(train_in(folder.path())["status"] == Value("done"));
    CHECK(trace::listener == &nobody);
  }
  CHECK(snapshot_files(folder.path()) == "snapshot.request ");
}

}  // namespace trainlab::attach_test

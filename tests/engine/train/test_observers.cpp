// Observers from outside: what they are told of a member and of the loop, and what their errors do.
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/files.h"
#include "support/fit_support.h"

namespace trainlab::observers_test {

using namespace test;
using namespace std::string_literals;
namespace fs = std::filesystem;

namespace {

class MemberNotes final : public Observer {
 public:
  void started(const FitView& view) override { lines.push_back("started " + view.name); }
  bool wants_step(std::int64_t step) override { return step % 2 == 0; }
  void stepped(const StepView& view) override { lines.push_back("step " + std::to_string(view.step)); }
  void validated(const ValidationView& view) override {
    lines.push_back("validated " + std::to_string(view.step) + " of " + std::to_string(view.total_steps) +
                    (view.metrics.contains("val.loss") ? " val.loss" : ""));
  }
  void finished(const Value& summary) override { lines.push_back("finished " + summary["status"].string()); }
  std::vector<std::string> lines;
};

class LoopNotes final : public LoopObserver {
 public:
  void started(std::int64_t step, std::size_t members) override { add("started", step, std::to_string(members)); }
  void stepped(std::int64_t step) override {
    add("stepped", step);
    if (step == fails_at) throw run_error("the watcher has seen enough");
  }
  void validated(std::int64_t step) override { add("validated", step); }
  void committed(std::int64_t step) override { add("committed", step); }
  void finished(std::int64_t step) override { add("finished", step); }
  std::vector<std::string> lines;
  std::int64_t fails_at = -1;

 private:
  void add(const std::string& what, std::int64_t step, const std::string& more = "") {
    lines.push_back(what + " " + std::to_string(step) + (more.empty() ? "" : " " + more));
  }
};

// Raises at one event: when it starts, at step 5, at the validation of step 4, or at the end.
class Raises final : public Observer {
 public:
  Raises(std::string event, std::function<void()> raise) : event_(std::move(event)), raise_(std::move(raise)) {}
  void started(const FitView&) override { at("started"); }
  bool wants_step(std::int64_t step) override { return step == 5; }
  void stepped(const StepView&) override { at("stepped"); }
  void validated(const ValidationView& view) override {
    if (view.step == 4) at("validated");
  }
  void finished(const Value&) override { at("finished"); }

 private:
  void at(const char* event) const {
    if (event == event_) raise_();
  }
  std::string event_;
  std::function<void()> raise_;
};

// From the fifth step on, no weight is finite.
class LosesWeights final : public GradientPass {
 public:
  std::string_view name() const override { return "lose"; }
  Verdict apply(std::span<at::Tensor> gradients, const StepFacts& facts) override {
    if (facts.step == 4) gradients.front().mul_(std::nan(""));
    return {};
  }
};

constexpr const char* lengths = R"(, "steps": 8, "validate": "4 steps", "checkpoint": "3 steps")";

// A group of three members in folders of their own; an observer is given to the second.
std::vector<Value> run_group(const fs::path& folder, const std::shared_ptr<Observer>& second, bool resumed = false) {
  const RunSettings settings = test_settings();
  prepare_arithmetic(1);
  std::vector<FitMember> members;
  for (std::size_t m = 0; m < 3; ++m) {
    make_directories(folder / std::to_string(m));
    members.push_back({.options = parse_options(digits_fit(lengths + R"(, "seed": )"s + std::to_string(m + 1))),
                       .context = quiet_context(folder / std::to_string(m), settings, resumed)});
  }
  if (second) members[1].observers = {second};
  return run_fits(plan_fit(members.front().options, settings), members, true);
}

// What a fit of eight steps has left: its last tensors, and its rows without their times.
std::string left_in(const fs::path& folder) {
  return hash_file(folder / "checkpoints" / "last-000000008.safetensors") + "\n" + rows_without_seconds(folder);
}

}  // namespace

TEST_CASE("observers from outside are told of their member, those of the loop of all members together") {
  const TemporaryFolder temporary;
  const RunSettings settings = test_settings();
  std::vector<FitMember> members;
  std::vector<std::shared_ptr<MemberNotes>> notes;
  for (const char* name : {"a", "b"}) {
    make_directories(temporary.path() / name);
    notes.push_back(std::make_shared<MemberNotes>());
    members.push_back({.options = parse_options(digits_fit(R"(, "steps": 4, "validate": "4 steps")")),
                       .context = quiet_context(temporary.path() / name, settings),
                       .observers = {notes.back()}});
  }
  const auto loop = std::make_shared<LoopNotes>();
  run_fits(plan_fit(members.front().options, settings), members, true, {.observers = {loop}});
  for (const auto& one : notes) {
    CHECK(one->lines ==
          std::vector<std::string>{"started test", "step 2", "step 4", "validated 4 of 4 val.loss", "finished done"});
  }
  CHECK(loop->lines == std::vector<std::string>{"started 0 2", "stepped 1", "stepped 2", "stepped 3", "stepped 4",
                                                "validated 4", "committed 4", "finished 4"});
}

TEST_CASE("a fit without a folder runs to its end, is watched, and leaves nothing") {
  const EmptyFolder folder;
  const RunSettings settings = test_settings();
  const Options fit = parse_options(digits_fit(R"(, "steps": 4, "validate": "2 steps", "checkpoint": "1 steps")"));
  const auto notes = std::make_shared<MemberNotes>();
  const FitMember member{.options = fit, .context = quiet_context({}, settings), .observers = {notes}};
  const auto loop = std::make_shared<LoopNotes>();
  const Value summary = run_fits(plan_fit(fit, settings), {&member, 1}, false, {.observers = {loop}}).front();
  CHECK(summary["status"] == Value("done"));
  CHECK(notes->lines == std::vector<std::string>{"started test", "step 2", "validated 2 of 4 val.loss", "step 4",
                                                 "validated 4 of 4 val.loss", "finished done"});
  // No checkpoint is written, so that none is told.
  CHECK(loop->lines == std::vector<std::string>{"started 0 1", "stepped 1", "stepped 2", "validated 2", "stepped 3",
                                                "stepped 4", "validated 4", "finished 4"});
  CHECK(folder.is_empty());
}

TEST_CASE("checkpoints are told of only when they are written") {
  const TemporaryFolder temporary;
  const auto told = [](const LoopNotes& loop) {
    std::vector<std::string> steps;
    for (const std::string& line : loop.lines) {
      if (line.starts_with("committed ")) steps.push_back(line.substr(10));
    }
    return steps;
  };
  // A loss that is not finite leaves the last good checkpoint.
  const auto lost = std::make_shared<LoopNotes>();
  const RunSettings settings = test_settings();
  const Options fit = parse_options(digits_fit(R"(, "steps": 8, "validate": "2 steps", "checkpoint": "2 steps")"));
  make_directories(temporary.path() / "lost");
  const FitMember member{.options = fit, .context = quiet_context(temporary.path() / "lost", settings)};
  const FitCompany company{.observers = {lost}, .passes = {std::make_shared<LosesWeights>()}};
  CHECK(run_fits(plan_fit(fit, settings), {&member, 1}, false, company).front()["status"] == Value("failed"));
  CHECK(told(*lost) == std::vector<std::string>{"2", "4"});

  // Members that leave their group are committed when they do.
  const auto left = std::make_shared<LoopNotes>();
  const std::string stops = R"(, "stop": {"@": "stop.threshold", "metric": "val.accuracy", "above": 0.0})";
  std::vector<FitMember> members;
  for (int m = 0; m < 4; ++m) {
    const fs::path folder = temporary.path() / ("left" + std::to_string(m));
    make_directories(folder);
    members.push_back({.options = parse_options(digits_fit(
                           R"(, "steps": 8, "validate": "4 steps", "checkpoint": "100 steps")" + (m < 3 ? stops : ""))),
                       .context = quiet_context(folder, settings)});
  }
  run_fits(plan_fit(members.front().options, settings), members, true, {.observers = {left}});
  CHECK(told(*left) == std::vector<std::string>{"4", "8"});
}

TEST_CASE("an observer that raises ends the fit with its error, and the fit goes on from its checkpoint") {
  const TemporaryFolder temporary;
  const RunSettings settings = test_settings();
  const Options fit = parse_options(digits_fit(R"(, "steps": 8, "checkpoint": "3 steps")"));
  const FitMember member{.options = fit, .context = quiet_context(temporary.path(), settings)};
  const auto loop = std::make_shared<LoopNotes>();
  loop->fails_at = 5;
  const auto run = [&] { run_fits(plan_fit(fit, settings), {&member, 1}, false, {.observers = {loop}}); };
  CHECK(error_of(run).find("the watcher has seen enough") != std::string::npos);
  CHECK(loop->lines.back() == "stepped 5");
  const Value rest = run_one(fit, temporary.path(), true);
  CHECK(rest["status"] == Value("done"));
  CHECK(rest["resumed"].list().at(0) == Value(3));
}

TEST_CASE("a member's observer that raises ends the fit, which goes on to the same bytes") {
  const TemporaryFolder temporary;
  const RunSettings settings = test_settings();
  prepare_arithmetic(1);
  const Options fit = parse_options(digits_fit(lengths));
  run_one(fit, temporary.path() / "whole");
  const std::vector<std::function<void()>> errors{[] { throw run_error("the watcher has seen enough"); },
                                                  [] { throw recipe_error("the watcher has seen enough"); },
                                                  [] { throw std::runtime_error("the watcher has seen enough"); }};
  for (const char* event : {"started", "stepped", "validated", "finished"}) {
    for (std::size_t e = 0; e < errors.size(); ++e) {
      INFO(event << " " << e);
      const fs::path folder = temporary.path() / (event + std::to_string(e));
      make_directories(folder);
      const FitMember member{.options = fit,
                             .context = quiet_context(folder, settings),
                             .observers = {std::make_shared<Raises>(event, errors[e])}};
      CHECK_THROWS_WITH(run_fits(plan_fit(fit, settings), {&member, 1}, false),
                        Catch::Contains("the watcher has seen enough"));
      CHECK(run_one(fit, folder, true)["status"] == Value("done"));
      CHECK(left_in(folder) == left_in(temporary.path() / "whole"));
    }
  }
}

TEST_CASE("an observer of a group's member that raises an error of the recipe ends this member alone") {
  const TemporaryFolder temporary;
  run_group(temporary.path() / "whole", nullptr);
  for (const char* event : {"started", "stepped", "validated", "finished"}) {
    INFO(event);
    const fs::path folder = temporary.path() / event;
    const std::vector<Value> ends =
        run_group(folder, std::make_shared<Raises>(event, [] { throw recipe_error("the watcher has seen enough"); }));
    CHECK(ends[1]["status"] == Value("failed"));
    CHECK(ends[1]["reason"] == Value("the watcher has seen enough"));
    for (const std::string member : {"0", "2"}) {
      CHECK(ends[std::stoul(member)]["status"] == Value("done"));
      CHECK(left_in(folder / member) == left_in(temporary.path() / "whole" / member));
    }
  }
}

TEST_CASE("any other error of an observer ends the whole group, which goes on to the same bytes") {
  const TemporaryFolder temporary;
  run_group(temporary.path() / "whole", nullptr);
  const std::vector<std::function<void()>> errors{[] { throw run_error("the watcher has seen enough"); },
                                                  [] { throw std::runtime_error("the watcher has seen enough"); }};
  for (const char* event : {"started", "stepped", "validated", "finished"}) {
    for (std::size_t e = 0; e < errors.size(); ++e) {
      INFO(event << " " << e);
      const fs::path folder = temporary.path() / (event + std::to_string(e));
      CHECK_THROWS_WITH(run_group(folder, std::make_shared<Raises>(event, errors[e])),
                        Catch::Contains("the watcher has seen enough"));
      for (const Value& end : run_group(folder, nullptr, true)) CHECK(end["status"] == Value("done"));
      for (const char* member : {"0", "1", "2"})
        CHECK(left_in(folder / member) == left_in(temporary.path() / "whole" / member));
    }
  }
}

}  // namespace trainlab::observers_test

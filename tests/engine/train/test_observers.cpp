// Observers from outside: what they are told of a member and of the loop, and what their errors do.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "core/files.h"
#include "support/fit_support.h"

using namespace trainlab;
using namespace trainlab::test;
namespace fs = std::filesystem;

namespace {

class MemberNotes final : public Observer {
 public:
  void started(const FitView& view) override { lines.push_back("started " + view.name); }
  bool wants_step(std::int64_t step) override { return step % 2 == 0; }
  void stepped(const StepView& view) override { lines.push_back("step " + std::to_string(view.step)); }
  void validated(const ValidationView& view) override {
    lines.push_back("validated " + std::to_string(view.step) + (view.metrics.contains("val.loss") ? " val.loss" : ""));
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
          std::vector<std::string>{"started test", "step 2", "step 4", "validated 4 val.loss", "finished done"});
  }
  CHECK(loop->lines == std::vector<std::string>{"started 0 2", "stepped 1", "stepped 2", "stepped 3", "stepped 4",
                                                "validated 4", "committed 4", "finished 4"});
}

TEST_CASE("a fit without a folder runs to its end, and is watched") {
  RunSettings settings;
  settings.quiet = true;
  StageContext context = quiet_context({}, settings);
  const Options fit = parse_options(digits_fit(R"(, "steps": 4, "validate": "2 steps", "checkpoint": "1 steps")"));
  const FitMember member{.options = fit, .context = std::move(context)};
  const auto loop = std::make_shared<LoopNotes>();
  const Value summary = run_fits(plan_fit(fit, settings), {&member, 1}, false, {.observers = {loop}}).front();
  CHECK(summary["status"] == Value("done"));
  CHECK(loop->lines.back() == "finished 4");
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

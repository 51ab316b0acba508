// Fits and tasks that answer requests for snapshots.
#include "profile/attach.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "core/files.h"
#include "core/time_in_seconds.h"
#include "objects/run_handle.h"
#include "snapshots.h"
#include "stage_profile.h"

namespace trainlab {

namespace {

// Figures of the members together: a step of theirs is one of each.
Profile profile_of_members(const FitPlan& plan, std::int64_t members, StepFigures steps) {
  Profile profile = profile_of_steps(plan, std::move(steps));
  profile.samples *= static_cast<double>(members);
  if (profile.flops) *profile.flops *= static_cast<double>(members);
  return profile;
}

// The option `profile` of a fit: the first steps are recorded for the fit itself.
struct OwnProfile {
  double seconds = 0;
  std::filesystem::path folder = {};  // of the fit, which gets the file
  std::function<void(const std::string&)> say = {};

  void take(const Value& answer) const {
    if (answer["error"].is_string()) return say("profile: not measured: " + answer["error"].string());
    const std::string text = answer["text"].string();
    say("profile: " + text.substr(0, text.find('\n')));
    try {
      write_atomic(folder / "profile.json", to_json(answer["value"], 2) + "\n");
    } catch (const Error& error) {
      say("profile: " + error.headline());
    }
  }
};

class FitWatch final : public Observer, public LoopObserver {
 public:
  // `plan` outlives the object.
  FitWatch(const FitPlan& plan, const AttachedTrials& trials, std::optional<OwnProfile> own = {})
      : snapshots_({.stage = trials.stage,
                    .note = trials.names,
                    .samples = plan.step_samples() * static_cast<double>(trials.count),
                    .wait = wait_for(plan.device),
                    .profile = [&plan, count = trials.count](
                                   StepFigures steps) { return profile_of_members(plan, count, std::move(steps)); },
                    .speed = [this] { return speed(); }}),
        own_(std::move(own)) {}

  void started(const FitView& view) override { run_ = view.run; }
  void stepped(std::int64_t step) override {
    if (own_ && ++steps_ >= cold_steps &&
        snapshots_.record(own_->seconds, steps_, [own = *own_](const Value& answer) { own.take(answer); }))
      own_.reset();
    snapshots_.stepped(step);
  }
  void finished(std::int64_t step) override {
    if (own_) own_->say(fmt::format("profile: not measured, because the fit has ended after step {}", step));
    snapshots_.finished(step);
  }

 private:
  using LoopObserver::started;
  using Observer::finished;
  using Observer::stepped;

  Value speed() const {
    const auto run = std::dynamic_pointer_cast<const RunHandle>(run_.lock());
    return run ? run->speed() : Value();
  }

  static constexpr std::int64_t cold_steps = 5;  // at the beginning, which are dropped

  std::weak_ptr<Object> run_;
  Snapshots snapshots_;
  std::optional<OwnProfile> own_;  // until its recording begins
  std::int64_t steps_ = 0;         // in this process, while it has not begun
};

// The steps of a task are the passes through its loops, before each of which it asks its judges.
class TaskWatch final : public Observer, public RowJudge {
 public:
  // `task` outlives the object.
  TaskWatch(const Options& task, const RunSettings& settings, const AttachedTrials& trial)
      : snapshots_({.stage = trial.stage,
                    .note = trial.names,
                    .has_step_spans = false,
                    .wait = wait_for(parse_device(settings.device)),
                    .profile = [&task, device = settings.device](StepFigures steps) {
                      return profile_of_task_steps(task, device, std::move(steps));
                    }}) {}

  void started(const FitView& view) override { step_ = view.first_step; }
  bool wants_step(std::int64_t) override { return true; }
  void stepped(const StepView& view) override { step_ = view.step; }
  void finished(const Value&) override { snapshots_.finished(step_); }

  std::optional<std::string> over() override {
    snapshots_.stepped(step_);
    return std::nullopt;
  }
  void passed() override { snapshots_.passed(); }

 private:
  std::int64_t step_ = 0;
  Snapshots snapshots_;
};

}  // namespace

FitAddition attach_addition() {
  return {.options = {Option("profile",
                             "time for which the first steps are timed: the log then has what they waited for, and "
                             "profile.json the figures (docs/profiling.md)")
                          .duration()
                          .in("time")
                          .alone()
                          .of_whole_training()
                          .of_speed_alone()},
          .callbacks = {},
          .check =
              [](const FitPlan& plan) {
                if (plan.options.given("profile")) time_in_seconds(plan.options, "profile");
              },
          .join =
              [](const FitPlan& plan, FitMember& member, FitCompany& company) {
                const std::filesystem::path& folder = member.context.folder;
                if (folder.empty()) return;
                std::optional<OwnProfile> own;
                if (plan.options.entry().find("profile") && plan.options.given("profile"))
                  own = {
                      .seconds = time_in_seconds(plan.options, "profile"), .folder = folder, .say = member.context.say};
                const auto watch = std::make_shared<FitWatch>(plan, AttachedTrials{.stage = folder}, std::move(own));
                member.observers.push_back(watch);
                company.observers.push_back(watch);
              }};
}

TaskAddition attach_to_tasks() {
  return [](const Options& task, const StageContext& context, TaskCompany& company) {
    if (!context.folder.empty()) attach_to_task(task, *context.settings, {.stage = context.folder}, company);
  };
}

void attach_to_fits(const FitPlan& plan, const AttachedTrials& trials, FitCompany& company) {
  company.observers.push_back(std::make_shared<FitWatch>(plan, trials));
}

void attach_to_task(const Options& task, const RunSettings& settings, const AttachedTrials& trial,
                    TaskCompany& company) {
  const auto watch = std::make_shared<TaskWatch>(task, settings, trial);
  company.observers.push_back(watch);
  company.judges.push_back(watch);
}

}  // namespace trainlab

#include "measure.h"

#include <algorithm>
#include <limits>

#include "core/clock.h"
#include "core/files.h"
#include "core/trace.h"
#include "repeat.h"
#include "tensor/types.h"
#include "train/fit.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

// How many validations, and how many checkpoints, are measured: the first is slower than the following ones.
constexpr std::int64_t enough_times = 3;

StageContext context_in(const fs::path& folder, const Measured& how) {
  return {.name = how.stage.string("name"),
          .folder = folder,
          .settings = &how.settings,
          .say = how.say,
          .say_damage = how.say};
}

void check_stop() {
  if (stop_requested()) throw Error(ErrorKind::interrupted, "asked to stop while steps were measured");
}

// Does the work. The hint of an error about a file in the folder, which is no run's, says how to have another folder.
template <class Work>
auto in_folder(const ScratchFolder& folder, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw ScratchFolder::explained(error, folder.path());
  }
}

void check_end(const Options& stage, const Value& summary) {
  check_stop();
  if (summary["status"] != Value("failed")) return;
  const std::string text = "the stage failed while its steps were measured: " + summary["reason"].string();
  const Error place = stage.error("", text);
  throw run_error(text)
      .at(place.file(), place.line())
      .hint("trainlab run watches the health of a training, and says why it fails where it can tell");
}

// Ends the measurement with the figures of the runs before, where they are enough for a verdict; raises the error
// otherwise.
void cut_short(StepFigures& figures, Error error) {
  if (error.kind() == ErrorKind::interrupted || figures.runs == 0) throw error;
  error.hint((error.hint().empty() ? "" : error.hint() + "; ") + "it came in run " + std::to_string(figures.runs + 1) +
             " of the stage, which is run again until enough of it is measured");
  if (figures.steps < few_steps) throw error;
  figures.cut_short = error;
}

// Runs the stage until the collector has enough figures, which it returns. `length` gives the seconds of the whole
// stage for the mean seconds of a step: a run ends early where enough is known.
template <class Run, class Length>
StepFigures collect(StepCollector& collector, const Measured& how, const Length& length, const Run& run) {
  const double began = steady_seconds();
  StepFigures figures;  // of whole runs: a step that an error ends is none
  const auto run_once = [&] {
    const bool is_first = collector.measured() == 0;
    const ScratchFolder folder;
    {
      const Listening listening(collector);
      with_torch_errors([&] { run(folder); });
    }
    const std::int64_t runs = figures.runs + 1;
    figures = collector.figures();
    figures.runs = runs;
    if (how.ran) how.ran();
    if (!how.by_length || !is_first) return;
    const double took = steady_seconds() - began;
    const double whole = collector.is_done() ? std::max(took, length(figures.mean)) : took;
    collector.set_limit(seconds_for(whole, collector.limit()));
    figures.allowed = collector.limit();
  };
  try {
    run_until_measured(collector, run_once);
  } catch (const Error& error) {
    cut_short(figures, error);
  }
  return figures;
}

// Ends a fit in which each step is followed by a validation and a checkpoint.
class EndsSoon final : public LoopObserver {
 public:
  explicit EndsSoon(double seconds) : until_(steady_seconds() + seconds) {}
  void stepped(std::int64_t step) override {
    if (step > enough_times || (step > 1 && steady_seconds() > until_)) throw SeenEnough();
  }

 private:
  double until_;
};

// Lowers the number of cold steps where the fit is short. Where an epoch has few steps and the last one of them is
// smaller, steps are timed by whole epochs.
StepLimits fitting(StepLimits limits, const FitPlan& plan) {
  constexpr std::int64_t few = 32;
  const RunLength& length = plan.length;
  limits.cold = cold_steps_of(length.total_steps, limits.cold);
  const bool is_uneven = plan.step_samples() < static_cast<double>(length.batch);
  if (is_uneven && length.steps_per_epoch <= few) limits.cycle = length.steps_per_epoch;
  return limits;
}

class TaskSteps final : public RowJudge {
 public:
  explicit TaskSteps(TaskStepListener& listener) : listener_(listener) {}
  std::optional<std::string> over() override {
    if (listener_.is_done()) return "the steps are measured";
    listener_.step_began();
    return std::nullopt;
  }
  void passed() override { listener_.step_ended(); }

 private:
  TaskStepListener& listener_;
};

}  // namespace

fs::path folder_of_fit(const ScratchFolder& folder, const Measured& how) {
  return how.beside.empty() ? folder.path() : folder.path() / "0";
}

Value run_fit_in(const ScratchFolder& folder, const FitPlan& plan, const Measured& how,
                 const std::shared_ptr<LoopObserver>& observer) {
  std::vector<FitMember> members;
  const auto add = [&](const Options& fit, const fs::path& own) {
    make_directories(own / "checkpoints");
    members.push_back({.options = fit, .context = context_in(own, how), .shows_progress = false});
  };
  add(plan.options, folder_of_fit(folder, how));
  for (const Options& fit : how.beside) add(fit, folder.path() / std::to_string(members.size()));
  FitCompany company;
  if (observer) company.observers.push_back(observer);
  try {
    const std::vector<Value> summaries =
        in_folder(folder, [&] { return run_fits(plan, members, members.size() > 1, company); });
    check_stop();
    const auto failed =
        std::ranges::find_if(summaries, [](const Value& one) { return one["status"] == Value("failed"); });
    return failed == summaries.end() ? summaries.front() : *failed;
  } catch (const SeenEnough&) {
    return {};  // the collector, or the observer, has ended the fit
  }
}

void run_measured_fit(const FitPlan& plan, const Measured& how, const ScratchFolder& folder,
                      const std::shared_ptr<LoopObserver>& observer) {
  if (const Value summary = run_fit_in(folder, plan, how, observer); !summary.is_nil()) check_end(how.stage, summary);
}

StepFigures measure_fit(FitPlan& plan, const Measured& how, const StepLimits& limits) {
  StepCollector collector(fitting(limits, plan), steady_seconds);
  const auto length = [&](double step) {
    double seconds = std::numeric_limits<double>::infinity();
    if (plan.length.total_steps > 0) seconds = static_cast<double>(plan.length.total_steps) * step;
    return plan.time_budget > 0 ? std::min(seconds, plan.time_budget) : seconds;
  };
  StepFigures figures =
      collect(collector, how, length, [&](const ScratchFolder& folder) { run_measured_fit(plan, how, folder); });
  if (how.known) {
    figures.validation = how.known->validation;
    figures.validation_metrics = how.known->validation_metrics;
    figures.validation_functions = how.known->validation_functions;
    figures.commit = how.known->commit;
    figures.commit_functions = how.known->commit_functions;
    return figures;
  }
  const bool validates = plan.data.val && plan.measures();
  if (figures.cut_short) return figures;
  if ((!validates || figures.validation.count >= enough_times) && figures.commit.count >= enough_times) return figures;

  const OwnRhythm own(plan);
  plan.validate_every = 1;
  plan.checkpoint = {.steps = 1, .seconds = {}};
  StepCollector between({.seconds = figures.allowed, .cold = 0, .counted = 0}, steady_seconds);
  try {
    const ScratchFolder folder;
    between.run_began();
    const Listening listening(between);
    with_torch_errors([&] { run_measured_fit(plan, how, folder, std::make_shared<EndsSoon>(figures.allowed / 3)); });
  } catch (const Error& error) {
    cut_short(figures, error);
    return figures;
  }
  const StepFigures more = between.figures();
  if (figures.validation.count < enough_times) {
    figures.validation = more.validation;
    figures.validation_metrics = more.validation_metrics;
    figures.validation_functions = more.validation_functions;
  }
  if (figures.commit.count < enough_times) {
    figures.commit = more.commit;
    figures.commit_functions = more.commit_functions;
  }
  return figures;
}

void run_measured_task(const Measured& how, const ScratchFolder& folder, TaskCompany company) {
  company.shows_progress = false;
  StageContext context = context_in(folder.path(), how);
  // The task is run again and again here, and says the same whenever it trains.
  context.on_warning = [](const std::string&) {};
  try {
    check_end(how.stage, in_folder(folder, [&] { return run_task(how.stage, context, company); }));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::interrupted) check_stop();  // the place in the recipe's loop is no mistake of it
    throw;
  }
}

void run_measured_task(const Measured& how, const ScratchFolder& folder, TaskStepListener& listener) {
  run_measured_task(how, folder, TaskCompany{.judges = {std::make_shared<TaskSteps>(listener)}});
}

void run_task_steps(const Options& task, const RunSettings& settings, TaskStepListener& listener) {
  const ScratchFolder folder;
  with_torch_errors([&] {
    run_measured_task({.stage = task, .settings = settings, .say = [](const std::string&) {}}, folder, listener);
  });
}

StepFigures measure_task(const Measured& how, const StepLimits& limits) {
  StepCollector collector(limits, steady_seconds);
  const auto unknown = [](double) { return std::numeric_limits<double>::infinity(); };
  return collect(collector, how, unknown,
                 [&](const ScratchFolder& folder) { run_measured_task(how, folder, collector); });
}

}  // namespace trainlab

// The stage that is profiled, run until its steps are measured. Private to the room.
#pragma once

#include "profile/profile.h"
#include "run/scratch_folder.h"
#include "step_collector.h"
#include "task/task.h"
#include "train/fit_plan.h"
#include "train/loop_observer.h"

namespace trainlab {

// Gives a plan its own validations and checkpoints back when the object goes: the code that holds it changes them, for
// runs that may raise errors.
class OwnRhythm {
 public:
  explicit OwnRhythm(FitPlan& plan) : plan_(plan), validate_every_(plan.validate_every), checkpoint_(plan.checkpoint) {}
  ~OwnRhythm() {
    plan_.validate_every = validate_every_;
    plan_.checkpoint = checkpoint_;
  }
  OwnRhythm(const OwnRhythm&) = delete;

 private:
  FitPlan& plan_;
  const std::int64_t validate_every_;
  const CheckpointRule checkpoint_;
};

// How a stage runs while it is measured.
struct Measured {
  const Options& stage;
  const RunSettings& settings;
  std::function<void(const std::string&)> say;
  std::function<void()> ran = {};    // ProfileOptions::ran
  bool by_length = false;            // ProfileOptions::by_length
  std::vector<Options> beside = {};  // fits that train in one group with the fit
  // Figures whose validations and checkpoints hold for this fit too, and are not measured again; null: none.
  const StepFigures* known = nullptr;
};

// The folder below `folder` in which the fit itself trains: one of its own where other fits train beside it.
std::filesystem::path folder_of_fit(const ScratchFolder& folder, const Measured& how);

// Runs a fit to its end, or until a listener or the observer raises SeenEnough, and returns its summary, nil after
// SeenEnough. Raises the error of the fit, and Error{interrupted} when the run was asked to stop; a loss that is not
// finite makes the summary's status "failed".
Value run_fit_in(const ScratchFolder& folder, const FitPlan& plan, const Measured& how,
                 const std::shared_ptr<LoopObserver>& observer = nullptr);

// The same for a fit whose failure is an error.
void run_measured_fit(const FitPlan& plan, const Measured& how, const ScratchFolder& folder,
                      const std::shared_ptr<LoopObserver>& observer = nullptr);

// Runs a task to its end, or until a judge ends it, or until the listener has heard enough steps. Both raise what
// run_measured_fit() raises.
void run_measured_task(const Measured& how, const ScratchFolder& folder, TaskCompany company);
void run_measured_task(const Measured& how, const ScratchFolder& folder, TaskStepListener& listener);

// The same in a folder of its own, where what the task says is not heard.
void run_task_steps(const Options& task, const RunSettings& settings, TaskStepListener& listener);

// The steps of a fit. If too few validations or checkpoints came meanwhile, the fit is run for some further steps, each
// of which is followed by a validation and a checkpoint. Where a further run of the stage fails, the figures of the
// runs before hold if they are enough for a verdict (StepFigures::cut_short); else the hint of the error says which run
// of the stage has failed.
StepFigures measure_fit(FitPlan& plan, const Measured& how, const StepLimits& limits);

// The same of a task.
StepFigures measure_task(const Measured& how, const StepLimits& limits);

}  // namespace trainlab

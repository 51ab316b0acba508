// The schedule and the stop rules of a fit: entries and a recipe's functions, in the order of the recipe.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/random/key.h"
#include "objects/run_handle.h"
#include "optim/schedule.h"
#include "train/fit_plan.h"
#include "train/stop.h"

namespace trainlab {

// The schedules of a fit: of the learning rate, and of the momentum and the weight decay (null without a schedule),
// with their state and events together.
struct Schedules {
  std::unique_ptr<Schedule> lr, momentum, weight_decay;

  void set_total(std::int64_t total_steps);
  void validated(double value, bool minimize);
  Value state() const;  // the state of the schedule if only lr has one; else a map
  void restore(const Value& state);
};

// The declaration of the option `schedule`, and its value under `name` in a table; the rate is constant by default.
// Error{recipe} for a momentum or a weight decay that the optimizer does not have.
Option schedule_option();
Schedules schedules_of(const Options& table, const std::string& name, const Options& optimizer, const RunLength& length,
                       Key key);

// Warnings about the option `schedule` of a fit of this length: see warnings_of_schedule.
std::vector<Error> warnings_of_schedules(const Options& fit, const RunLength& length);

// The schedules of one model of a fit with a step of its own; nullopt if its optimizer has none and keeps the rate that
// the step sets.
std::optional<Schedules> step_schedules_of(const FitPlan& plan, const FitPlan::StepModel& model, Key key);

// The option `stop`. A function stop(run) is called with `run` and re-keyed from `key`, its place and the step.
std::vector<std::unique_ptr<StopRule>> stop_rules_of(const Options& fit, const FitPlan& plan,
                                                     const std::shared_ptr<RunHandle>& run, Key key);

}  // namespace trainlab

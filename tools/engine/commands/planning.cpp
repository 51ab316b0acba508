// The part of `trainlab plan RECIPE.lua` that needs the recipe: the steps of its first stage, or of that of --stage,
// are measured, and the engine answers with JSON (plan/recipe_plan.h).
#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>

#include "command.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/time_in_seconds.h"
#include "machine/machine.h"
#include "measured_stage.h"
#include "plan/energy.h"
#include "plan/recipe_plan.h"
#include "profile/profile.h"
#include "run/run.h"
#include "tensor/device.h"
#include "train/evaluation_seconds.h"
#include "train/fit_plan.h"
#include "train/memory_prediction.h"

namespace trainlab {

namespace {

constexpr double longest = 10;  // longest time for measuring steps, which ends earlier when a step is known to ±1 %

// The seconds of the option `time`; 0 without.
double own_time(const Options& stage) { return stage.given("time") ? time_in_seconds(stage, "time") : 0; }

// The passes over unchanged training data that a step makes; 0 where each pass changes them.
double step_passes(const FitPlan& plan) {
  const Part& train = plan.data.train;
  if (train.augmentation || !train.transforms.empty() || train.size() == 0) return 0;
  const std::int64_t steps = plan.length.steps_per_epoch;
  const double samples = static_cast<double>(steps > 0 ? train.epoch_size() : plan.length.batch) /
                         static_cast<double>(std::max<std::int64_t>(steps, 1));
  return samples / static_cast<double>(train.size());
}

// The FLOP/s of this processor in the numbers of the fit, where an earlier profile has measured them; else 0. Those of
// a GPU are not measured.
double known_peak(const FitPlan& plan, int threads) {
  if (plan.device.type() != at::kCPU) return 0;
  Calibration kept;
  kept.measure = []() -> Roofline { throw run_error("the machine was not measured before"); };
  try {
    return calibrated_machine(kept).peak_flops(threads, dtype_name(plan.precision.compute));
  } catch (const Error&) {
    return 0;
  }
}

// The memory that a larger model would take more of, where it can be predicted, and the memory that there is.
void set_memory(Value& facts, const FitPlan& plan) {
  if (!plan.device.is_cpu()) return;
  const MemoryPrediction predicted = predict_memory(plan);
  if (predicted.is_least()) return;
  const MemoryLedger& ledger = predicted.memory.ledger;
  const std::int64_t fixed = ledger.of(MemoryKind::batches) + ledger.of(MemoryKind::other);
  facts.set("model_memory", static_cast<double>(predicted.memory.training() - fixed));
  facts.set("room", static_cast<double>(room_of(plan) - fixed));
}

// Whether a stop rule, a function of the recipe or a verdict may end the training before its length.
bool may_stop(const Options& training) {
  if (training.entry().name != "fit") return false;
  if (training.given("stop")) return true;
  if (training.given("health") && training.child("health").string("action") == "stop") return true;
  constexpr std::array calls_in_training{"step", "validate", "epoch", "checkpoint", "health"};
  return training.given("on") && std::ranges::any_of(calls_in_training, [on = training.child("on")](const char* name) {
           return on.given(name);
         });
}

// How many of the stage's trainings proceed side by side as fast as one does alone: those whose threads have cores of
// their own, or one on each GPU that the workers take. `device`: as worker_device() takes it.
double trainings_at_once(const WhatToMeasure& what, int threads, const std::string& device) {
  if (worker_device(device, 0).is_cpu()) {
    const double with_cores = static_cast<double>(usable_cores()) / threads;
    return std::clamp(with_cores, 1.0, static_cast<double>(what.trainings.workers));
  }
  std::set<std::string> devices;
  for (int worker = 0; worker < what.trainings.workers; ++worker) devices.insert(worker_device(device, worker).str());
  return static_cast<double>(devices.size());
}

// The seconds in which the validation and the test part are evaluated; 0 for a part that there is not.
struct Evaluations {
  double validation = 0, test = 0;
};

Evaluations evaluations_of(const Profile& profile) {
  const EvaluationSpeed speed{
      .validation = profile.validation.seconds.value_or(0), .step = profile.steps.mean, .samples = profile.samples};
  const DataParts& data = profile.data.value();
  return {.validation = data.val ? evaluation_seconds(data, *data.val, speed) : 0,
          .test = data.test ? evaluation_seconds(data, *data.test, speed) : 0};
}

Value value_of(const std::vector<TrainingWave>& waves) {
  Value::List all;
  for (const TrainingWave& one : waves)
    all.push_back(Value::Map{{"trials", one.trials}, {"validations", one.validations}, {"times", one.times}});
  return all;
}

class PlanningExecution final : public MeasuredStage {
 public:
  using MeasuredStage::MeasuredStage;

 private:
  int measure(const WhatToMeasure& what, const RunSettings& settings) override {
    require_kept(what);
    const double flops_left = run().flops_left_for(what.whole, what.is_last);
    if (flops_left <= 0) {
      throw usage_error("the stages before " + what.whole.string("name") + " use all FLOPs of the budget")
          .hint("more flops in lab.budget");
    }
    const std::string device = settled_device(settled(request()).device);
    Value facts = Value::Map{{"stage", what.whole.string("name")},
                             {"kind", what.whole.entry().name},
                             {"is_task", what.stage().entry().name == "task"},
                             {"waves", value_of(what.trainings.waves)},
                             {"repeats", what.trainings.repeats},
                             {"at_end", what.trainings.at_end},
                             {"may_be_fewer", what.trainings.may_be_fewer || may_stop(what.stage())},
                             {"may_end_early", what.trainings.may_end_early},
                             {"together", what.trainings.together},
                             {"workers", what.trainings.workers},
                             {"at_once", trainings_at_once(what, settings.threads, device)},
                             {"is_on_gpu", !worker_device(device, 0).is_cpu()},
                             {"share", budget_share(what.whole, what.is_last)},
                             {"trainings_share", what.trainings.share},
                             {"validate_every", 0},
                             {"steps", 0},
                             {"steps_per_epoch", 0},
                             {"parameters", 0.0},
                             {"full_step_flops", 0.0},
                             {"epoch_flops", 0.0},
                             {"step_passes", 0.0},
                             {"model_memory", 0.0},
                             {"room", 0.0},
                             {"peak", 0.0},
                             {"training_time", what.stage().entry().name == "fit" ? own_time(what.stage()) : 0.0},
                             {"stage_time", what.note().empty() ? 0.0 : own_time(what.whole)}};
    bool is_measured = false;
    if (what.stage().entry().name == "fit") {
      const FitPlan plan = plan_fit(what.stage(), settings);
      is_measured = plan.measures();
      facts.set("steps", plan.length.total_steps);
      facts.set("steps_per_epoch", plan.length.steps_per_epoch);
      facts.set("validate_every", plan.validate_every);
      facts.set("parameters", static_cast<double>(plan.parameter_count()));
      facts.set("step_passes", step_passes(plan));
      facts.set("peak", known_peak(plan, settings.threads));
      set_memory(facts, plan);
      if (std::isfinite(plan.sample_flops())) {
        facts.set("full_step_flops", plan.flops_until(1));
        facts.set("epoch_flops", plan.flops_until(plan.length.steps_per_epoch));
      }
    }
    const double begun = request().begun > 0 ? request().begun : steady_seconds();
    facts.set("start", steady_seconds() - begun);
    const ProfileOptions options{
        .seconds = longest, .precision = 0.01, .say = [](const std::string&) {}, .ran = [this] { mute(); }};
    const EnergyMeter energy;
    const double measured_from = steady_seconds();
    const Profile profile = profile_stage(what.stage(), settings, options);
    facts.set("watts", energy.joules().value_or(0) / (steady_seconds() - measured_from));
    check_whole(profile);
    facts.set("step", profile.steps.step.to_value());
    facts.set("wall", profile.wall());
    const Evaluations evaluations = is_measured ? evaluations_of(profile) : Evaluations{};
    facts.set("validation", evaluations.validation);
    facts.set("once", evaluations.test + profile.checkpoint.seconds.value_or(0));
    facts.set("after", static_cast<double>(what.trainings.predictions) * (evaluations.validation + evaluations.test));
    facts.set("flops", profile.flops.value_or(0));
    const BudgetTerms budget = run().budget_terms();
    facts.set("within", budget.seconds);
    facts.set("reserve", budget.reserve);
    facts.set("most_flops", std::isfinite(flops_left) ? flops_left : 0.0);
    if (const std::optional<MedianInterval> whole = plan_of(facts_from(facts)).whole; whole && budget.paid) {
      const double seconds = facts["start"].number() + whole->median;
      facts.set("cost", Value::Map{{"amount", budget.paid->cost_of_seconds(seconds)},
                                   {"currency", budget.paid->currency},
                                   {"as_of", budget.paid->as_of}});
    }
    send(to_json(facts) + "\n");
    return 0;
  }
};

}  // namespace

Command planning_command() {
  return {"planning", [](const EngineStart& start) { return PlanningExecution(start).execute(); }};
}

}  // namespace trainlab

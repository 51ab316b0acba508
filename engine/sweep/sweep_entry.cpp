// The declaration of lab.sweep, and its two sides: run and check.
#include "sweep_entry.h"

#include <algorithm>

#include "confirm.h"
#include "core/clock.h"
#include "core/files.h"
#include "plan/sweep_plan.h"
#include "run/folder.h"
#include "study_summary.h"
#include "sweep/sweep.h"
#include "worker.h"

namespace trainlab {

Option build_option() {
  return Option("build",
                "returns the fit of a trial, or a task; hp has the trial's parameters, hp.seed and hp.trial, and any "
                "other name in hp is an error")
      .function("function(hp) → lab.fit { … }")
      .required();
}

Option workers_option() {
  return Option("workers", "processes that train trials; --workers takes precedence")
      .integer()
      .at_least(1)
      .at_most(4096)
      .or_default(1);
}

Option study_threads_option() {
  return Option("threads", "threads of each trial; --threads takes precedence")
      .integer()
      .at_least(1)
      .at_most(4096)
      .or_default(1);
}

Option stack_option() {
  return Option("stack",
                "trials of one structure train together: \"auto\" where this is faster, false never, a number up to "
                "this many, true as many as \"auto\"; with a number or true, a fit that cannot is an error")
      .choice({"auto"})
      .boolean()
      .integer()
      .at_least(2)
      .at_most(1024)
      .or_default("auto");
}

namespace {

// The numbers of trials that had ended each time the stage was resumed, this time included.
Value::List resumed(const StageContext& context, const SharedStudy& study) {
  const std::filesystem::path file = context.folder / "resumed.json";
  const Value stored = read_json(file);
  if (!stored.is_nil() && !stored.is_list()) throw damaged_file(file, "it is no list");
  Value::List all = stored.is_nil() ? Value::List() : stored.list();
  if (!context.resumed) return all;
  all.emplace_back(study.study().trials().ended());
  write_atomic(file, to_json(all) + "\n");
  return all;
}

}  // namespace

Value work_on(const StudyPlan& plan, const StageContext& context,
              const std::function<Value(const Worker&, bool interrupted)>& summarise) {
  for (const Objective& one : plan.objectives()) {
    if (is_of_test(one) && !context.helps)
      context.warn(context.name + ": chooses by " + one.metric +
                   ", so that the test part says nothing of new data any more");
  }
  StageContext of_trials = context;
  const Worker* at_work = nullptr;
  if (context.seconds_left) {
    of_trials.seconds_left = [&plan, &context, &at_work] {
      return context.seconds_left() -
             seconds_at_end(plan, context.seconds_in_all, at_work ? at_work->trial_seconds() : TrialSeconds());
    };
  }
  if (plan.terms().trainings_at_end > 0) of_trials.most_flops *= 1 - plan.terms().share_at_end;
  // The processes that help train such trials, too: the one that leads tells of them.
  SpeedTotal speed_total(context.helps ? nullptr : context.say, words_while_training(context));
  Worker worker(plan, of_trials, speed_total, steady_seconds);
  at_work = &worker;
  const Value::List resumes = context.helps ? Value::List() : resumed(context, worker.study());
  // Each worker has a trial at least.
  if (context.ask_for_workers)
    context.ask_for_workers(static_cast<int>(std::min<std::int64_t>(plan.workers(), plan.terms().trials)));
  const bool interrupted = worker.run() == Worker::End::interrupted;
  if (context.helps) return interrupted ? Value::Map{{"status", "interrupted"}} : Value();
  Value summary = summarise(worker, interrupted);
  summary.set("resumed", resumes);
  summary.set("health", health_of(worker.study()));
  if (Value efficiency = efficiency_of(worker.study()); !efficiency.is_nil())
    summary.set("efficiency", std::move(efficiency));
  if (!plan.runs_tasks()) {
    const Value& more = summary["flops"];  // of the trainings that have followed
    summary.set("flops", flops_of(worker.study(), context.folder) + (more.is_number() ? more.number() : 0));
  }
  SpeedFigures speed = speed_of(worker.study(), context.folder);
  speed.add(summary["speed"]);  // of the trainings that have followed
  summary.set("speed", speed.to_value(words_at_end(context)));
  if (Value::List warnings = stored_warnings(worker.study()); !warnings.empty())
    summary.set("warnings", std::move(warnings));
  if (const std::optional<double> seconds = worker.used_seconds(); seconds && summary["seconds"].is_nil())
    summary.set("seconds", *seconds);
  if (interrupted) {
    summary.set("status", "interrupted");
    summary.set("reason", "asked to stop");
  }
  return summary;
}

namespace {

Entry sweep_entry() {
  return Entry("sweep", "stage", "Searches a space: trains a fit at many of its points and finds the best.")
      .with(Option("name", "the stage's key, unique in the recipe").string().required())
      .with(space_option())
      .with(build_option())
      .with(Option("sampler", "chooses the parameters of each configuration")
                .entry("sampler")
                .or_default(Value::Map{{"@", "sampler.tpe"}}))
      .with(
          Option("scheduler", "decides which configurations train on and how far (default: each trial is a whole fit)")
              .entry("scheduler"))
      .with(Option(
                "pruner",
                "decides after each validation which running trials to stop early; the progress of a fit is counted in "
                "validations, that of a task in rows with the metric")
                .entry("pruner"))
      .with(Option("metric",
                   "metric that is compared, measured with the weights that a fit keeps: \"val.accuracy\"; of a task "
                   "the value that it logs last under this name. With several metrics the sweep finds their Pareto "
                   "front")
                .string()
                .many()
                .required())
      .with(Option("goal", "the better direction of each metric, if the metric does not declare one")
                .choice({"min", "max"})
                .many())
      .with(Option("trials", "number of points that are tried").integer().at_least(1))
      .with(Option("time", "no trial begins after this time").duration().in("time"))
      .with(Option("improvement",
                   "ends the sweep when another trial is expected to improve the best value by less than this; true: "
                   "by less than a hundredth of the distance between the median trial and the best")
                .boolean()
                .number()
                .at_least(0))
      .with(Option("seeds", "number of fits of each trial, each with a seed of its own")
                .integer()
                .at_least(1)
                .at_most(10000)
                .or_default(1))
      .with(Option("aggregate", "how the values of the seeds give the value of a trial")
                .choice({"mean", "median"})
                .or_default("mean"))
      .with(Option("confirm",
                   "after the search, trains the best trials again on fresh seeds, and quotes only these trainings for "
                   "the winner; they have at most the last third of the sweep's time, or come on top of `trials`")
                .fields({Option("top", "how many of the best trials").integer().at_least(1).or_default(8),
                         Option("seeds", "fresh seeds of each").integer().at_least(2).at_most(1000).or_default(5)}))
      .with(storage_option())
      .with(workers_option())
      .with(study_threads_option())
      .with(stack_option())
      .with(Option("deterministic",
                   "results do not depend on the number of workers: decisions about trial k use trials 0 … k − 8 "
                   "alone, and wait for them")
                .boolean()
                .or_default(false))
      .with(Option("duplicates", "a point that was tried before: train it again, take over its result, or draw another")
                .choice({"allow", "reuse", "resample"})
                .or_default("allow"))
      .with(Option("enqueue",
                   "points to try first: tables of values by name; the sampler chooses the values that are left out")
                .any()
                .many())
      .with(Option("constraints", "returns whether a point may be tried").function("function(hp) → boolean"))
      .with(
          Option("max_failures",
                 "number of trials that may fail; one more failed trial ends the sweep (default: any number may fail)")
              .integer()
              .at_least(0))
      .with(Option("seed", "seed of the sampler and of hp.seed (default: the run's seed)").integer().at_least(0))
      .returns("a stage: run it with lab.run, or return it from the recipe")
      .example(
          "return lab.sweep {\n"
          "  name = \"search\", metric = \"val.accuracy\", trials = 32, workers = 2,\n"
          "  space = { lr = lab.space.log(1e-4, 1e-1), width = lab.space.int(16, 128, { log = true }) },\n"
          "  pruner = lab.pruner.asha { min = 2 },\n"
          "  build = function(hp)\n"
          "    return lab.fit {\n"
          "      name = \"member\", data = lab.data.digits():split { train = 0.8, val = 0.2 },\n"
          "      model = lab.nn.Sequential { lab.nn.Flatten(), lab.nn.Linear(hp.width), lab.nn.ReLU(), "
          "lab.nn.Linear(10) },\n"
          "      loss = \"cross_entropy\", metrics = { \"accuracy\" }, optim = lab.optim.AdamW { lr = hp.lr }, epochs "
          "= 10,\n"
          "    }\n"
          "  end,\n"
          "}")
      .note(
          "All trials share initial weights, data order and dropout masks; the repeats of a trial (its seeds) differ "
          "in all three. If all repeats of a trial so far are worse than all repeats of the best trial, and chance "
          "would do that in less than one of ten cases, the trial ends without its other repeats. A trial that raises "
          "an error, needs more memory than is free, or whose loss is not a number has failed; the sweep continues, up "
          "to `max_failures`. If `build` raises an error before any trial could be built, the sweep ends: then the "
          "recipe is wrong, not a trial.");
}

std::string why_folder(const Options& stage) {
  if (!stage.given("scheduler")) return "";
  return "trials of " + stage.child("scheduler").entry().name + " go on from the checkpoints of other trials";
}

StageWork prepare_sweep(const Options& stage, const RunSettings& settings, const TrialAddition& addition) {
  const auto plan = std::make_shared<const SweepPlan>(stage, settings, addition);
  return [plan](const StageContext& context) {
    Value summary = work_on(*plan, context, [&](const Worker& worker, bool interrupted) {
      Value found = sweep_summary(*plan, worker.study(), worker.stopped(), context.folder);
      if (!interrupted) confirm(*plan, worker, context, found);
      return found;
    });
    if (context.helps && !stop_requested()) help_to_confirm(*plan, context);
    return summary;
  };
}

Checked check_sweep(const Options& stage, const RunSettings& settings, const CheckedToo& too) {
  const SweepPlan plan(stage, settings);
  return describe_study(plan, too);
}

}  // namespace

void register_sweep(Registry& registry, const TrialAddition& addition) {
  registry.add(
      sweep_entry(),
      StageKind{.is_shared = true,
                .counts_flops = true,
                .budget_share = 2.0 / 3,
                .needs_folder = why_folder,
                .trainings = [](const Options& stage,
                                const RunSettings& settings) { return SweepPlan(stage, settings).trainings(); },
                .prepare = [addition](const Options& stage,
                                      const RunSettings& settings) { return prepare_sweep(stage, settings, addition); },
                .check = check_sweep});
  register_ensemble(registry, addition);
}

}  // namespace trainlab

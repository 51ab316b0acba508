// The declaration of lab.sweep, and its two sides: run and check.
#include "sweep_entry.h"

#include "study_summary.h"
#include "sweep/sweep.h"
#include "sweep_plan.h"
#include "worker.h"

namespace trainlab {

Option build_option() {
  return Option("build",
                "gives the fit of a trial: hp has its parameters, hp.seed and hp.trial; any other name is an error")
      .function("function(hp) → lab.fit { … }")
      .required();
}

Option workers_option() {
  return Option("workers", "processes that train trials; --workers beats it")
      .integer()
      .at_least(1)
      .at_most(4096)
      .or_default(1);
}

Option study_threads_option() {
  return Option("threads", "threads of each trial; --threads beats it")
      .integer()
      .at_least(1)
      .at_most(4096)
      .or_default(1);
}

Option stack_option() {
  return Option("stack", "trials of one structure that train together: \"auto\" where it pays off, false, or how many")
      .choice({"auto"})
      .boolean()
      .integer()
      .at_least(2)
      .at_most(1024)
      .or_default("auto");
}

Value work_on(const StudyPlan& plan, const StageContext& context,
              const std::function<Value(const Worker&, bool interrupted)>& summarise) {
  for (const Objective& one : plan.objectives()) {
    if (one.metric.starts_with("test.") && !context.helps)
      context.say(context.name + ": chooses by " + one.metric +
                  ", so that the test part says nothing of new data any more");
  }
  Worker worker(plan, context);
  if (context.ask_for_workers) context.ask_for_workers(plan.workers());
  const bool interrupted = worker.run() == Worker::End::interrupted;
  if (context.helps) return interrupted ? Value::Map{{"status", "interrupted"}} : Value();
  Value summary = summarise(worker, interrupted);
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
      .with(Option("pruner",
                   "decides after each validation which running trials to stop early; the resource is the number of "
                   "validations")
                .entry("pruner"))
      .with(Option("metric",
                   "what is compared, of the weights that a fit keeps: \"val.accuracy\". Several: the sweep finds "
                   "their Pareto front")
                .string()
                .many()
                .required())
      .with(
          Option("goal", "the better direction of each metric, where it is not declared").choice({"min", "max"}).many())
      .with(Option("trials", "how many points are tried").integer().at_least(1))
      .with(Option("time", "no trial begins after this time").duration())
      .with(Option("improvement",
                   "ends the sweep when another trial is expected to improve the best by less than this; true: "
                   "by less than a hundredth of what lies between the median trial and the best")
                .boolean()
                .number()
                .at_least(0))
      .with(Option("seeds", "fits of each trial, with seeds of their own")
                .integer()
                .at_least(1)
                .at_most(10000)
                .or_default(1))
      .with(Option("aggregate", "the value of a trial from those of its seeds")
                .choice({"mean", "median"})
                .or_default("mean"))
      .with(workers_option())
      .with(study_threads_option())
      .with(stack_option())
      .with(Option("deterministic",
                   "results do not depend on the number of workers: what is decided for trial k knows "
                   "trials 0 … k − 8 and waits for them")
                .boolean()
                .or_default(false))
      .with(Option("duplicates", "a point that was tried before: train it again, take over its result, or draw another")
                .choice({"allow", "reuse", "resample"})
                .or_default("allow"))
      .with(Option("enqueue", "points to try first: tables of values by name; what is missing is drawn").any().many())
      .with(Option("constraints", "whether a point may be tried").function("function(hp) → boolean"))
      .with(Option("max_failures", "failed trials that end the sweep when there are more (default: it goes on)")
                .integer()
                .at_least(0))
      .with(Option("seed", "seed of the sampler and of hp.seed (default: the run's)").integer().at_least(0))
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
          "All trials share initial weights, data order and masks; the repeats of a trial differ in all of them. A "
          "trial whose repeats so far are all worse than all of the best trial's ends before the others are run, when "
          "chance "
          "would do that in less than one of ten cases. A trial that raises, or whose loss is no number, has failed, "
          "and the sweep goes on.");
}

StageWork prepare_sweep(const Options& stage, const RunSettings& settings) {
  const auto plan = std::make_shared<const SweepPlan>(stage, settings);
  return [plan](const StageContext& context) {
    return work_on(*plan, context,
                   [&](const Worker& worker, bool) { return sweep_summary(*plan, worker.study(), worker.stopped()); });
  };
}

std::string check_sweep(const Options& stage, const RunSettings& settings, bool step) {
  const SweepPlan plan(stage, settings);
  return describe_study(plan, step);
}

}  // namespace

void register_sweep_entry(Registry& registry) {
  registry.add(sweep_entry(), StageKind{.is_shared = true, .prepare = prepare_sweep, .check = check_sweep});
}

}  // namespace trainlab

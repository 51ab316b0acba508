// The declaration of lab.ensemble: many seeds of one fit, or fits that a sweep has trained; the best of them are kept,
// and judged one by one and together.
#include "ensemble.h"
#include "plan/ensemble_plan.h"
#include "sweep_entry.h"
#include "worker.h"

namespace trainlab {

namespace {

Entry ensemble_entry() {
  return Entry("ensemble", "stage", "Trains many seeds of a fit, keeps the best and averages their predictions.")
      .with(Option("name", "the stage's key, unique in the recipe").string().required())
      .with(build_option())
      .with(Option("params", "parameters that `build` gets beside hp.seed and hp.trial: found.best.params of a sweep")
                .any())
      .with(
          Option("from", "the result of a sweep: members are chosen from its complete trials instead of being trained")
              .any())
      .with(Option("seeds", "number of members that are trained").integer().at_least(1).at_most(100000).or_default(8))
      .with(Option("keep",
                   "number of members that are kept, the best by the metric (default: all); as long as this many are "
                   "complete, members that fail are left out. With `from`, number of members that are chosen")
                .integer()
                .at_least(1))
      .with(Option("metric", "metric by which members are kept").string().many().or_default(Value::List{"val.loss"}))
      .with(Option("goal", "the better direction of the metric, if the metric does not declare one")
                .choice({"min", "max"})
                .many())
      .with(Option("time", "no member begins after this time; the ensemble is of those that have ended")
                .duration()
                .in("time"))
      .with(storage_option())
      .with(workers_option())
      .with(study_threads_option())
      .with(stack_option())
      .with(Option("seed", "seed from which hp.seed is derived (default: the run's seed)").integer().at_least(0))
      .returns("a stage: run it with lab.run, or return it from the recipe")
      .example(
          "return lab.ensemble {\n"
          "  name = \"final\", seeds = 16, keep = 4, metric = \"val.loss\",\n"
          "  build = function(hp)\n"
          "    return lab.fit {\n"
          "      name = \"member\", data = lab.data.digits():split { train = 0.8, val = 0.1, test = 0.1 },\n"
          "      model = lab.nn.Sequential { lab.nn.Flatten(), lab.nn.Linear(64), lab.nn.ReLU(), lab.nn.Linear(10) },\n"
          "      loss = \"cross_entropy\", metrics = { \"accuracy\" }, optim = lab.optim.AdamW { lr = 3e-3 }, epochs = "
          "10,\n"
          "    }\n"
          "  end,\n"
          "}")
      .note(
          "The predictions of a classification are averaged as probabilities, those of a regression as values. With "
          "`from`, members are added one by one, each time the member that makes the mean best on the validation part; "
          "a member may be added again (Caruana et al. 2004, Ensemble selection from libraries of models). Members may "
          "be tasks: the best are kept by what they log, and have no predictions together.");
}

StageWork prepare_ensemble(const Options& stage, const RunSettings& settings, const TrialAddition& addition) {
  const auto plan = std::make_shared<const EnsemblePlan>(stage, settings, addition);
  if (stage.given("from")) {
    for (const char* option : {"params", "seeds", "seed", "storage", "time"}) {
      if (stage.given(option)) throw stage.error(option, "goes with members that are trained, not with `from`");
    }
    return [plan](const StageContext& context) { return context.helps ? Value() : greedy_ensemble(*plan, context); };
  }
  return [plan](const StageContext& context) {
    return work_on(*plan, context, [&](const Worker& worker, bool interrupted) {
      return interrupted ? Value() : seed_ensemble(*plan, context, worker.study(), worker.stopped());
    });
  };
}

Checked check_ensemble(const Options& stage, const RunSettings& settings, const CheckedToo& too) {
  return describe_study(EnsemblePlan(stage, settings), too);
}

}  // namespace

void register_ensemble(Registry& registry, const TrialAddition& addition) {
  const auto why_folder = [](const Options&) { return std::string("its members predict together, by their weights"); };
  registry.add(
      ensemble_entry(),
      StageKind{
          .is_shared = true,
          .counts_flops = true,
          .needs_folder = why_folder,
          .trainings = [](const Options& stage,
                          const RunSettings& settings) { return EnsemblePlan(stage, settings).trainings(); },
          .prepare = [addition](const Options& stage,
                                const RunSettings& settings) { return prepare_ensemble(stage, settings, addition); },
          .check = check_ensemble});
}

}  // namespace trainlab

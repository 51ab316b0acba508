// lab.study and its objects, as recipes see them.
#include "study/study_object.h"

namespace trainlab {

void register_study_entry(Registry& registry) {
  registry.add(
      Entry("study", "function", "A search driven by hand: ask for a trial, run it, tell how it went.")
          .with(space_option())
          .with(Option("sampler", "chooses the parameters of each trial")
                    .entry("sampler")
                    .or_default(Value::Map{{"@", "sampler.tpe"}}))
          .with(Option("pruner", "decides which running trials to stop early").entry("pruner"))
          .with(Option("goal", "the better direction of each objective: min or max")
                    .choice({"min", "max"})
                    .many()
                    .or_default("min"))
          .with(Option("seed", "seed of the draws (default: lab.seed)").integer().at_least(0))
          .with(Option("constraints", "returns false for a point that must not be tried; another point is drawn then")
                    .function("function(hp) → boolean"))
          .with(Option("enqueue", "points to try first; the sampler chooses the parameters that a point leaves out")
                    .any()
                    .many())
          .with(Option("deterministic",
                       "trial k depends on trials 0 … k − 8 alone; study:ask returns nil until these have ended")
                    .boolean()
                    .or_default(false))
          .with(Option("file",
                       "path of a SQLite file, NAME.db, that keeps the study; several processes may share the file")
                    .path())
          .with(storage_option())
          .with(
              Option("name", "the study's name in the database, where several processes may share the study").string())
          .returns("study")
          .example("local study = lab.study { space = { x = lab.space.uniform(-5, 5) }, sampler = lab.sampler.tpe() }\n"
                   "for _ = 1, 50 do\n"
                   "  local trial = study:ask()\n"
                   "  study:tell(trial, (trial.params.x - 2) ^ 2)\n"
                   "end\n"
                   "print(study.best.value, study.best.params.x)")
          .note(
              "With a file or a database, a trial's value is on disk when study:tell returns. A trial whose process "
              "ended "
              "before study:tell waits and is begun again. lab.sweep drives a study by itself, in several processes."));

  registry.add(Entry("study:ask", "method", "Begins a trial.")
                   .returns("trial; or nil and the reason: the space is used up, or other trials must end first")
                   .example("local trial = study:ask()"));
  registry.add(
      Entry("study:tell", "method", "Ends a trial.")
          .with(Option("trial", "the trial, or its number").any().required().positional())
          .with(
              Option("value",
                     "value of the trial, or a list with one value for each objective; NaN means that the trial failed")
                  .number()
                  .many()
                  .positional())
          .with(Option("state", "how a trial without a value ended").choice({"complete", "pruned", "failed"}))
          .returns("nil")
          .example("study:tell(trial, nil, { state = \"pruned\" })")
          .note("A finished trial does not change: telling twice is an error. Infinity is a value, the best or the "
                "worst of "
                "all. A pruned trial has the value of its last report, which is the mean over its repeats."));
  registry.add(
      Entry("study:enqueue", "method", "Adds a trial that study:ask gives before it asks the sampler for another one.")
          .with(
              Option("params", "parameters of the trial by name; the sampler chooses the parameters that are left out")
                  .any()
                  .required()
                  .positional())
          .returns("nil")
          .example("study:enqueue { lr = 0.01 }"));
  registry.add(
      Entry("study.best", "field",
            "The complete trial with the best value (the earliest of equal trials), with the fields trial (its "
            "number), value and params. nil before a trial is complete.")
          .returns("table"));
  registry.add(Entry("study.pareto", "field",
                     "For several objectives: the complete trials that no other trial beats in all objectives, "
                     "each with the fields trial, values and params.")
                   .returns("table, a list"));
  registry.add(
      Entry("study.trials", "field",
            "All trials in order of their numbers, which count from 0, each with the fields number, state, params, "
            "value (values with several objectives) and reports (by step, the mean over repeats). #study counts the "
            "trials.")
          .returns("table, a list"));
  registry.add(Entry("trial.number", "field", "Number of the trial; trials count from 0.").returns("integer"));
  registry.add(Entry("trial.params", "field",
                     "The parameters by name. An inactive parameter reads as nil, an unknown name is an error.")
                   .returns("table"));
  registry.add(
      Entry("trial:report", "method", "Reports an intermediate value of the trial to the pruner.")
          .with(Option("step", "progress of the trial, counted from 1").integer().at_least(1).required().positional())
          .with(Option("value",
                       "intermediate value, or a list with one value for each objective; NaN is the worst of all")
                    .number()
                    .many()
                    .required()
                    .positional())
          .with(Option("repeat", "number of the repeat (seed) that reports, counted from 1")
                    .integer()
                    .at_least(1)
                    .or_default(1)
                    .positional())
          .returns("nil")
          .example("trial:report(epoch, loss)")
          .note("Reporting a step again forgets all that was reported since that step."));
  registry.add(Entry("trial:should_prune", "method",
                     "Whether the study's pruner stops the trial, judged by the trial's reports.")
                   .returns("boolean")
                   .example("if trial:should_prune() then return study:tell(trial, nil, { state = \"pruned\" }) end")
                   .note("A trial need not ask after each report: all rungs that it has met since it asked before are "
                         "judged, each by the first report there or beyond."));
}

}  // namespace trainlab

// lab.study and its objects, as recipes see them.
#include "study/study_object.h"

namespace trainlab {

void register_study_entry(Registry& registry) {
  registry.add(
      Entry("study", "function", "A search driven by hand: ask for a trial, run it, tell how it went.")
          .with(space_option())
          .with(Option("sampler", "who chooses the parameters")
                    .entry("sampler")
                    .or_default(Value::Map{{"@", "sampler.tpe"}}))
          .with(Option("pruner", "who gives trials up that are under way").entry("pruner"))
          .with(Option("goal", "whether less or more is better, for each objective")
                    .choice({"min", "max"})
                    .many()
                    .or_default("min"))
          .with(Option("seed", "of the draws (default: lab.seed)").integer().at_least(0))
          .with(Option("constraints", "false for points that are not wanted; they are drawn anew")
                    .function("function(hp) → boolean"))
          .with(Option("enqueue", "points to try first; what they leave open the sampler chooses").any().many())
          .with(Option("deterministic",
                       "trial k depends on trials 0 … k − 8 alone, and ask gives nil until they have ended")
                    .boolean()
                    .or_default(false))
          .with(
              Option("file", "keeps the study in this SQLite file, NAME.db, which several processes may share").path())
          .returns("study")
          .example("local study = lab.study { space = { x = lab.space.uniform(-5, 5) }, sampler = lab.sampler.tpe() }\n"
                   "for _ = 1, 50 do\n"
                   "  local trial = study:ask()\n"
                   "  study:tell(trial, (trial.params.x - 2) ^ 2)\n"
                   "end\n"
                   "print(study.best.value, study.best.params.x)")
          .note(
              "With a file, what was told is on disk when tell returns, and a trial that was not told when its process "
              "ended is asked again. lab.sweep does all of this by itself, in several processes."));

  registry.add(
      Entry("study:ask", "method", "Begins a trial.")
          .returns("trial; nil and the reason where there is none: the space is used up, or others must end first")
          .example("local trial = study:ask()"));
  registry.add(
      Entry("study:tell", "method", "Ends a trial.")
          .with(Option("trial", "the trial, or its number").any().required().positional())
          .with(Option("value", "its value; a list of one for each objective. A NaN means that it failed")
                    .number()
                    .many()
                    .positional())
          .with(Option("state", "without a value: why there is none").choice({"complete", "pruned", "failed"}))
          .returns("nil")
          .example("study:tell(trial, nil, { state = \"pruned\" })")
          .note("A finished trial does not change: to tell twice is an error. Infinity is a value, the best or the "
                "worst of all. A pruned trial has the value that it last reported, the mean over repeats there."));
  registry.add(Entry("study:enqueue", "method", "A trial for later, before those that the sampler chooses.")
                   .with(Option("params", "its parameters by name; what is left open the sampler chooses")
                             .any()
                             .required()
                             .positional())
                   .returns("nil")
                   .example("study:enqueue { lr = 0.01 }"));
  registry.add(Entry("study.best", "field",
                     "The complete trial with the best value, the earliest of equal ones: trial (its "
                     "number), value and params. nil before there is one.")
                   .returns("table"));
  registry.add(Entry("study.pareto", "field",
                     "Of several objectives: the complete trials that no other beats in all of them, "
                     "each with trial, values and params.")
                   .returns("table, a list"));
  registry.add(
      Entry("study.trials", "field",
            "All trials in order of their numbers, which count from 0: number, state, params, "
            "value (values of several objectives), reports (by step, the mean over repeats). #study is their count.")
          .returns("table, a list"));
  registry.add(Entry("trial.number", "field", "Trials count from 0.").returns("integer"));
  registry.add(
      Entry("trial.params", "field", "The parameters by name. An inactive one is nil, an unknown name an error.")
          .returns("table"));
  registry.add(Entry("trial:report", "method", "A value on the way, for pruners.")
                   .with(Option("step", "how far the trial is, from 1").integer().at_least(1).required().positional())
                   .with(Option("value", "a list of one for each objective; NaN is the worst of all")
                             .number()
                             .many()
                             .required()
                             .positional())
                   .with(Option("repeat", "which of the trial's repeats (seeds) it is of, from 1")
                             .integer()
                             .at_least(1)
                             .or_default(1)
                             .positional())
                   .returns("nil")
                   .example("trial:report(epoch, loss)")
                   .note("To report a step again goes back to it: what was reported since is forgotten."));
  registry.add(Entry("trial:should_prune", "method",
                     "Whether the study's pruner gives the trial up, after what it has reported.")
                   .returns("boolean")
                   .example("if trial:should_prune() then return study:tell(trial, nil, { state = \"pruned\" }) end"));
}

}  // namespace trainlab

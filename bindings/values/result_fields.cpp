// The fields of results: what lab.run gives, and summary.json has. tests/cli/test_results.py compares them with the
// summaries of real stages.
#include "result_fields.h"

namespace trainlab {

namespace {

// A field without a table of its own.
void add_field(Registry& registry, const char* name, const char* doc, const char* type) {
  registry.add(Entry(std::string("result.") + name, "field", doc).returns(type));
}

// The implementation of a field that is a table by names of metrics.
struct ByMetric {};

void add_metrics(Registry& registry, const char* name, const char* doc) {
  registry.add(Entry(std::string("result.") + name, "field", doc).returns("table"), ByMetric());
}

Option values_of_seeds() {
  return Option("seed_values", "with several seeds: the value of each seed, of the first metric").number().many();
}

Option validations_of_observed() {
  return Option("validations", "with a scheduler: the validations after which the search has seen the value `observed`")
      .integer();
}

Option params_of_trial() { return Option("params", "parameters of the trial by name; nil where inactive").any(); }

void of_every_stage(Registry& registry) {
  add_field(registry, "name", "Name of the stage.", "string");
  add_field(registry, "kind",
            "Kind of the stage: \"fit\", \"task\", \"sweep\", \"ensemble\", \"find.lr\" and the like.", "string");
  add_field(
      registry, "status",
      "\"done\": the stage has reached its length. \"stopped\": a stop rule, a budget or run:stop has ended the stage, "
      "whose weights and metrics are complete. summary.json may also say \"interrupted\" or \"failed\"; lab.run raises "
      "an error then.",
      "string");
  add_field(registry, "reason", "Why the stage ended, in words.", "string");
  add_field(registry, "out", "Folder of the stage, an absolute path.", "string");
  add_field(registry, "seconds", "Seconds from the first batch to the last commit, of all attempts together.",
            "number");
  registry.add(
      Entry("result.budget", "field", "Of a run with a budget: the budget of the whole run.")
          .with(Option("seconds", "length of the budget; nil where nothing bounds the time").number())
          .with(Option("used", "seconds used in all processes of the run when the stage ended").number())
          .with(Option("reserve", "seconds of the budget in which nothing trains; nil without `seconds`").number())
          .with(Option("flops", "floating-point operations of the trainings, of a budget that bounds them")
                    .fields({Option("limit", "of the whole run").number(),
                             Option("used", "by the stages so far").number()}))
          .with(Option("money", "of a budget that bounds it")
                    .fields({Option("limit", "the amount").number(),
                             Option("used", "what the seconds used cost").number(),
                             Option("seconds", "what the amount pays for").number(),
                             Option("currency", "its currency").string(),
                             Option("as_of", "the day of the price").string()}))
          .returns("table"));
  add_field(registry, "warnings",
            "Warnings of likely mistakes that the stage has given, as texts; nil for a stage without any.", "table");
  add_field(registry, "resumed",
            "Steps from which the stage was resumed; of a sweep or an ensemble, the numbers of trials that had ended "
            "then. Empty for a stage that ran in one piece.",
            "table");
}

void of_trainings(Registry& registry) {
  add_metrics(
      registry, "metrics",
      "Of a fit: the final value of each metric by name (\"val.loss\"), measured with the weights that were kept. Of a "
      "task: the last logged value of each name. A value that is no number is nil.");
  registry.add(
      Entry("result.forecast", "field",
            "Of a fit: the final value of the monitored metric, as forecast from the validations. Of a fit that has "
            "reached its length the value itself; none with fewer than five validations, or after a failure. Of a "
            "fit that a rule has ended, what training on would have brought.")
          .with(Option("metric", "name of the metric that `monitor` watches").string())
          .with(Option("value", "the forecast: of the best value where the best weights are kept").number())
          .with(Option("low", "lower end of an interval that holds the value in about 80 % of trainings").number())
          .with(Option("high", "its upper end").number())
          .with(Option("at", "optimizer steps done when the fit would have reached its length").integer())
          .with(Option("at_is_estimate", "whether only a time bounds the fit, so that its length is an estimate")
                    .boolean())
          .with(Option("rate_falls",
                       "whether the learning rate still falls until then, so that the forecast is "
                       "more often too bad than too good")
                    .boolean())
          .with(Option("references",
                       "finished runs of the same recipe and schedule from which the forecast comes; 0: it comes from "
                       "the curve itself")
                    .integer())
          .with(Option("of_other_data", "whether the data of these runs were others than this run's").boolean())
          .returns("table"));
  registry.add(
      Entry("result.efficiency", "field",
            "Of a fit that has ended: whether compute and data were well spent, as far as its own validations show. Of "
            "a sweep or an ensemble: how many of its trials waste them.")
          .with(Option("flags", "\"compute_inefficient\" and \"data_inefficient\", as far as they are known to hold")
                    .string()
                    .many())
          .with(Option("compute_share",
                       "share of the FLOPs after which the fit had the value of the weights that are kept; "
                       "compute-inefficient if the next validation, too, came after at most 0.9. Nil with too few "
                       "validations")
                    .number())
          .with(Option("passes", "how often the weights that are kept have seen the training data").number())
          .with(Option("loss_ratio",
                       "train.loss over val.loss of these weights; at most 0.9 after more than 4 passes over data "
                       "that come back unchanged is data-inefficient. Nil where one of the two is unknown")
                    .number())
          .with(Option("judged", "of a sweep or an ensemble: trials that have ended and whose fits were judged")
                    .integer())
          .with(Option("compute_inefficient", "how many of these have a fit that is compute-inefficient").integer())
          .with(Option("data_inefficient", "how many have one that is data-inefficient").integer())
          .returns("table"));
  registry.add(
      Entry("result.promotion", "field",
            "Of a fit with the option promote: whether its model is to be served, and why.")
          .with(Option("metric", "name of the metric that was compared").string())
          .with(Option("value", "the metric's value in this fit").number())
          .with(Option("promoted", "whether runs/NAME/current leads to this run now").boolean())
          .with(Option("rival",
                       "the run whose model was measured on the same data, `run`, and its `value`; nil where there was "
                       "no other run, without `value` where it could not be measured")
                    .any())
          .with(Option("reason", "the decision in words").string())
          .returns("table"));
  add_field(registry, "steps", "Of a fit: optimizer steps done. Of a task: steps done in its durable loops.",
            "integer");
  add_field(registry, "samples", "Of a fit: samples seen in training.", "integer");
  add_field(registry, "parameters", "Of a fit: number of trainable parameters of the model.", "integer");
  add_field(
      registry, "flops",
      "Of a fit: floating-point operations of training, estimated from the model; nil with a step of the "
      "recipe's own. Of "
      "a sweep or an ensemble of fits, and of a search for a rate, a batch or an optimizer: of all its trainings.",
      "number");
  registry.add(
      Entry("result.speed", "field",
            "Of a fit or a task: how fast it was and where its time went, in the process that ended it. Trials of a "
            "stack have the figures of their stack. Of a sweep or an ensemble: of all its trainings, in all processes.")
          .with(Option("step_seconds", "`median` and `p95` of the seconds of a step, its wait for data included").any())
          .with(Option("shares",
                       "shares of the time: `training`, `input` (steps that wait for data), `evaluation` (on the "
                       "validation and test parts), `checkpoint`, and `other`; together they are 1")
                    .any())
          .with(Option("samples_per_second", "of the steps; nil where a task's loops have no samples").number())
          .with(Option("transform",
                       "share of the time that data:transform took on the thread that trains, a part of shares.input; "
                       "nil where it is unknown")
                    .number())
          .with(Option("without_core",
                       "share of the time in which the training was ready to go on and had no core; nil "
                       "where the system does not tell")
                    .number())
          .with(Option("peak_memory", "the most bytes of tensors at a time on the device, of one process").integer())
          .with(Option("notes", "what the report says of it: texts, none where all is well").any())
          .returns("table"));
  registry.add(
      Entry("result.memory", "field", "Of a fit: the bytes of its tensors, in the process that ended it.")
          .with(Option("peak", "most bytes at a time in the training, validations and the test included").integer())
          .with(Option("plain",
                       "the same without the options in `chosen`: predicted if there are any, else measured; nil where "
                       "it is unknown")
                    .integer())
          .with(Option("step", "most bytes at a time in a training step; nil where none was measured").integer())
          .with(Option("budget", "limit of the training's bytes (memory.budget, --memory); nil without a limit")
                    .integer())
          .with(Option("categories",
                       "what a training step was measured to hold at its peak, by kind: weights, gradients, optimizer, "
                       "activations, temporaries, batches, averages, script, other; and `program`, what the process "
                       "held beside tensors. Nil where no step was measured")
                    .any())
          .with(Option("offloaded",
                       "most bytes of tensors at a time that lay in a file in place of memory, which the other numbers "
                       "leave out (memory.offload)")
                    .integer())
          .with(Option("chosen",
                       "what saves memory in its steps, as the texts after --set that say the same: \"batch=32\", "
                       "\"memory.recompute=every 4\"")
                    .any())
          .returns("table"));
  registry.add(
      Entry("result.precision", "field",
            "Of a fit: the types of its numbers, and with float16 how the loss was scaled.")
          .with(Option("weights", "type of weights, gradients, losses and metrics").string())
          .with(Option("compute", "type of matrix products and convolutions").string())
          .with(Option("skipped_steps", "steps that were left out because their gradients in float16 were not finite")
                    .integer())
          .with(
              Option("scale", "the number by which the loss is multiplied before the backward pass; 1 but for float16")
                  .number())
          .returns("table"));
  add_metrics(registry, "reports",
              "Of a fit with the metric report, for each part of the data (\"val.report\"): the confusion matrix, and "
              "precision, recall and F1 of each class.");
  registry.add(
      Entry(
          "result.health", "field",
          "Of a fit: what was found to be wrong with the training, cause before symptom; empty when all is well. Of a "
          "task: what its rows of train.loss and val.loss show. Of a sweep or an ensemble: the faults of its trials by "
          "kind, the most frequent first.")
          .with(Option("kind", "the fault, \"rate_too_high\" for example: docs/health.md has all of them").string())
          .with(Option("step", "optimizer steps done when the fault was seen").integer())
          .with(Option("confidence", "how sure the verdict is").choice({"high", "medium", "low"}))
          .with(Option("evidence", "the figures, in a sentence").string())
          .with(Option("remedy", "what to write in the recipe").string())
          .with(Option("count", "of a sweep or an ensemble: the trials with the fault").integer())
          .with(Option("ended", "of a sweep or an ensemble: the trials that have ended").integer())
          .with(
              Option("trials",
                     "of a sweep or an ensemble: numbers of trials with the fault, at most eight; the other fields are "
                     "those of the first")
                  .any())
          .returns("list of tables"));
  registry.add(Entry("result.floor", "field",
                     "Of a fit with the cross-entropy whose training part has equal samples with different labels: the "
                     "loss that no model can undercut; nil where it is not known (docs/health.md).")
                   .with(Option("loss", "the floor, in nats").number())
                   .with(Option("low", "lower end of its 95 % interval").number())
                   .with(Option("high", "upper end").number())
                   .with(Option("wrong_labels", "the share of labels that are wrong").number())
                   .with(Option("groups", "groups of equal samples from which it is known").integer())
                   .returns("table"));
  registry.add(Entry("result.constant_loss", "field",
                     "The loss of a model that gives each sample of the training part the same prediction, the best "
                     "one: of the cross-entropy the entropy of the labels, in nats; nil where it is not known.")
                   .returns("number"));
  registry.add(Entry("result.fixes", "field",
                     "Of a fit with health.action = \"fix\" whose options were changed: the changes, the oldest first.")
                   .with(Option("kind", "the fault").string())
                   .with(Option("step", "optimizer steps done when the fault was seen").integer())
                   .with(Option("evidence", "the figures, in a sentence").string())
                   .with(Option("option",
                                "what was changed: \"lr\", \"clip.norm\", \"accumulate\", \"batch\", "
                                "\"data:normalize\" or \"init\"")
                             .string())
                   .with(Option("value", "the new value; nil for \"data:normalize\"").any())
                   .with(Option("from", "the step to which the training went back; 0: it began anew").integer())
                   .with(Option("seconds", "of training until then").number())
                   .with(Option("flops", "of steps that this fix and earlier ones have thrown away").number())
                   .returns("list of tables"));
  registry.add(
      Entry("result.best", "field",
            "Of a fit: the best validation, if there was one. Of a sweep with one metric: the best trial.")
          .with(Option("metric", "of a fit: name of the metric that `monitor` watches").string())
          .with(Option("value", "value of the metric").number())
          .with(Option("epoch", "of a fit: epochs completed at this validation").integer())
          .with(Option("step", "of a fit: optimizer steps done at this validation").integer())
          .with(Option("trial", "of a sweep: number of the trial, from 0").integer())
          .with(params_of_trial())
          .with(values_of_seeds())
          .with(Option("observed",
                       "of a sweep that confirms its best trials: the value in the search, while `value` is "
                       "that of the fresh seeds")
                    .number())
          .with(validations_of_observed())
          .with(Option("interval", "of such a sweep: half the 95 % interval of the value on fresh seeds (Student's t)")
                    .number())
          .returns("table"));
}

void of_studies(Registry& registry) {
  add_field(registry, "metric",
            "Of a sweep or an ensemble: the metric that decides; a list if there are several metrics.",
            "string or a list");
  add_field(registry, "goal", "Of a sweep or an ensemble: \"min\" or \"max\"; a list if there are several metrics.",
            "string or a list");
  add_field(registry, "seed", "Of a sweep: the seed of the study.", "integer");
  registry.add(Entry("result.trials", "field", "Of a sweep: numbers of trials by state.")
                   .with(Option("waiting", "enqueued, or given back by a process that was lost").integer())
                   .with(Option("running", "under way").integer())
                   .with(Option("complete", "ended with a value").integer())
                   .with(Option("pruned", "stopped early by the pruner").integer())
                   .with(Option("failed", "ended by an error, or without a value").integer())
                   .returns("table"));
  registry.add(Entry("result.failures", "field", "Of a sweep or an ensemble: why trials failed, if some did.")
                   .with(Option("count", "trials that failed").integer())
                   .with(Option("ended", "trials that have ended").integer())
                   .with(Option("alike", "failed trials with the commonest reason").integer())
                   .with(Option("reason", "this reason, with … in place of numbers that differ").string())
                   .with(Option("trial", "number of one of these trials").integer())
                   .with(Option("folder", "its folder below that of the stage, if it has left a summary").string())
                   .with(Option("trials", "of an ensemble: numbers of the trials that failed").integer().many())
                   .returns("table"));
  registry.add(
      Entry("result.confirmed", "field",
            "Of a sweep with the option confirm: its best trials on fresh seeds, in the order of the mean over all "
            "their trainings, with a scheduler over the fresh ones. A training that the budget of the run cut short "
            "does not count.")
          .with(Option("trial", "number of the trial, from 0").integer())
          .with(Option("value", "by the fresh seeds alone; nil where none of them gave one").number())
          .with(Option("interval", "half the 95 % interval of the value (Student's t); nil below two seeds").number())
          .with(Option("observed", "the value in the search").number())
          .with(validations_of_observed())
          .with(Option("failed", "fresh seeds on which the training failed").integer())
          .with(params_of_trial())
          .with(Option("seed_values", "the value of each fresh seed").number().many())
          .returns("list of tables"));
  registry.add(Entry("result.pareto", "field",
                     "Of a sweep with several metrics: the trials that no other trial beats, in order of number.")
                   .with(Option("trial", "number of the trial, from 0").integer())
                   .with(Option("values", "value of each metric").number().many())
                   .with(params_of_trial())
                   .with(values_of_seeds())
                   .returns("list of tables"));
  registry.add(Entry("result.members", "field", "Of an ensemble: the members that were kept, the best first.")
                   .with(Option("trial", "number of the trial that trained the member").integer())
                   .with(Option("seed", "seed of the member").integer())
                   .with(Option("folder", "folder of the member's fit, relative to the ensemble's").string())
                   .with(Option("metrics", "metrics of the member by name").any())
                   .returns("list of tables"));
  add_metrics(registry, "best_member", "Of an ensemble: the metrics of its best member by name.");
  add_metrics(registry, "mean_member", "Of an ensemble: the mean of its members' metrics by name.");
  add_metrics(registry, "ensemble", "Of an ensemble: the metrics of all members together by name.");
  add_field(registry, "params", "Of an ensemble: the parameters with which its members were built.", "table");
}

void of_searches(Registry& registry) {
  registry.add(Entry("result.lr", "field", "Of lab.find.lr: the learning rate that was found.")
                   .with(Option("suggestion", "the middle of `low` and `high`").number())
                   .with(Option("low", "the lowest probed rate that cannot be told from the best").number())
                   .with(Option("high", "the highest of these rates").number())
                   .with(Option("is_bounded", "whether a worse rate was probed on both sides of them").boolean())
                   .with(Option("start", "the first probed rate, by the range tests").number())
                   .with(Option("valley", "fastai's rule on the mean curve").number())
                   .with(Option("steepest", "the rate at which the loss fell fastest").number())
                   .returns("table"));
  registry.add(
      Entry("result.batch", "field", "Of lab.find.batch: the samples of a step.")
          .with(Option("now", "the fit's").integer())
          .with(Option("suggestion", "soonest at the same loss within 5 %, for a knee in its range").integer())
          .with(Option("accumulate", "micro-batches of a step").integer())
          .with(Option("micro_batch", "the option `batch` for the suggestion").integer())
          .with(Option("lr", "learning rate for the suggestion; nil where no rule gives one").number())
          .with(Option("knee", "`low` and `high`: where larger batches begin to waste samples").any())
          .with(Option("efficiency", "`low` and `high`: the share of the batch's samples that is not wasted").any())
          .returns("table"));
  registry.add(Entry("result.optimizer", "field", "Of lab.find.optimizer: the optimizer that is suggested.")
                   .with(Option("suggestion", "its name").string())
                   .with(Option("lr", "its best learning rate").number())
                   .with(Option("octaves", "how far its good rates reach, as a power of two").number())
                   .returns("table"));
  add_field(registry, "search", "Of lab.find.…: what else the command prints with --json, the curves for example.",
            "table");
}

}  // namespace

bool is_by_metric(const Entry& field) { return std::any_cast<ByMetric>(&field.implementation) != nullptr; }

void register_result_fields(Registry& registry) {
  of_every_stage(registry);
  of_trainings(registry);
  of_studies(registry);
  of_searches(registry);
}

}  // namespace trainlab

// The declaration of lab.fit, and its two sides: run and check.
#include <algorithm>
#include <utility>

#include "fixing.h"
#include "memory/room.h"
#include "memory/within_budget.h"
#include "objective/metrics.h"
#include "optim/clip.h"
#include "plan/fit_text.h"
#include "plan/precision.h"
#include "run/run.h"
#include "tensor/memory.h"
#include "train/fit.h"
#include "train/rules.h"
#include "try_step.h"

namespace trainlab {
namespace {

Entry fit_entry() {
  return Entry("fit", "stage", "Trains a model on data until its length, a stop rule or a budget ends the run.")
      .with(Option("name", "the stage's key, unique in the recipe").string().required().by_member())
      .with(Option("data", "data to train on, with its validation and test parts").entry("data").required())
      .with(Option("model", "the model; input sizes are inferred from the data. With `step`, several models by name")
                .entry("layer")
                .keyed()
                .required())
      .with(Option("input", "sizes of a sample that a model reads, if that is not the data's x; only with `step`")
                .integer()
                .at_least(1)
                .many()
                .keyed())
      .with(Option("step",
                   "a training step of the recipe's own: it does all backward passes and optimizer steps itself, and "
                   "the numbers that it returns are measured as train.NAME")
                .function("function(run, batch) → { name = scalar, … }"))
      .with(Option("loss",
                   "the loss that is minimised; with `step` it is only measured. A function gets the run as a third "
                   "argument; with several models `out` is nil")
                .entry("loss")
                .function("function(out, batch) → scalar[, count]"))
      .with(metrics_option().mendable())
      .with(Option("optim", "the optimizer").entry("optimizer").keyed().required().by_member())
      .with(schedule_option().by_member())
      .with(Option("batch",
                   "samples per micro-batch; by default no more than the training part has. \"auto\": as many as fit "
                   "into memory.budget, or into what is free when the fit begins")
                .integer()
                .at_least(1)
                .choice({"auto"})
                .or_default(64))
      .with(
          Option("effective",
                 "samples per optimizer step where batch = \"auto\", which then divides this number; accumulate is the "
                 "quotient")
              .integer()
              .at_least(1))
      .with(Option("epochs", "length in passes over the training part").integer().at_least(1))
      .with(Option("steps", "length in optimizer steps, instead of epochs").integer().at_least(1))
      .with(Option("flops",
                   "length in floating-point operations of training, counted as by `trainlab check`, instead of epochs")
                .number()
                .at_least(1))
      .with(Option("time", "budget of time, which includes a reserve for the last validation and checkpoint")
                .duration()
                .in("time")
                .of_whole_training())
      .with(Option("seed", "seed of initial weights, data order and dropout (default: the run's seed)")
                .integer()
                .at_least(0)
                .by_member())
      .with(Option("monitor",
                   "metric that decides what is best (default: val.loss, or train.loss without a validation part)")
                .string())
      .with(Option("goal", "better direction of the monitored metric, if the metric does not declare one")
                .choice({"min", "max"}))
      .with(Option("keep", "weights that are kept at the end (default: best with a validation part, else last)")
                .choice({"best", "last"}))
      .with(Option("stop", "rules asked after each validation; the first reason ends the run")
                .entry("stop")
                .function("function(run) → reason or nil")
                .many()
                .by_member()
                .mendable()
                .of_whole_training())
      .with(Option("validate", "how often the validation part is measured").duration().or_default("1 epochs"))
      .with(Option("checkpoint", "how often `last` is committed (default: at a validation when 10 s have passed)")
                .duration()
                .of_whole_training())
      .with(Option("init",
                   "initial values of all parameters with two or more axes, or a table of inits by pattern of "
                   "parameter names, in which \"*\" stands for any characters; the longest pattern that matches a name "
                   "counts. init.weights takes trained values. With several models, one of these for each by its name")
                .entry("init")
                .keyed())
      .with(
          Option("freeze",
                 "patterns of the names of parameters that do not train; a layer whose parameters are all frozen "
                 "computes as in evaluation, and its running statistics stay; with several models, a table by name of "
                 "the model")
              .string()
              .many()
              .keyed())
      .with(Option("accumulate",
                   "number of micro-batches whose gradients make one optimizer step, as one large batch would")
                .integer()
                .at_least(1)
                .or_default(1))
      .with(clip_option().keyed())
      .with(Option("ema", "an average of the weights, which is validated and kept in place of the weights")
                .entry("average")
                .of_whole_training())
      .with(Option("memory", "how a training takes less memory")
                .fields(
                    {Option("budget",
                            "bytes of tensors that the training may take, its validations included: \"2 GB\", \"500 "
                            "MiB\", or \"80%\" of what is free when the fit begins. Where the training takes more, the "
                            "options that make it fit are chosen; with recompute = \"auto\" or batch = \"auto\" only "
                            "those (default: all that "
                            "is free). A step that comes to this limit goes on in smaller parts, but not with "
                            "fuse_step")
                         .string()
                         .in("bytes"),
                     Option("allow",
                            "what a budget may choose: \"exact\": recompute, fuse_step, chunk_loss and offload; "
                            "\"close\": also the optimizer's state, and products, in bfloat16; \"any\": also a "
                            "state of 8 bits, and smaller batches with the same effective batch")
                         .choice({"exact", "close", "any"})
                         .or_default("exact"),
                     Option("recompute",
                            "layers whose activations the forward pass does not keep and the backward pass computes "
                            "again, with gradients of the same bits: \"every 2\" for segments of two layers, "
                            "\"cheap\" for norms, activations and dropout, without any product, patterns of layers' "
                            "places, such as { \"3-6\", \"8.*\" }, each a segment of its own, or \"auto\" for the "
                            "segments that fit into the budget at the least measured time")
                         .string()
                         .many(),
                     Option("fuse_step",
                            "the optimizer steps each parameter within the backward pass, as soon as its gradient "
                            "is complete, and the gradient is freed at once; functions of the recipe then see no "
                            "gradients")
                         .boolean()
                         .or_default(false),
                     Option("chunk_loss",
                            "the last layer, an nn.Linear, and the loss, cross_entropy, are computed together a few "
                            "rows at a time in training, so that the scores of all classes are never held")
                         .boolean()
                         .or_default(false),
                     Option("offload",
                            "what lies in a file in place of memory, with weights of the same bits: \"optimizer\": the "
                            "optimizer's state, which is read and written while the optimizer steps; \"activations\": "
                            "what the forward pass keeps for the backward pass")
                         .choice({"optimizer", "activations"})
                         .many()}))
      .with(precision_option())
      .with(Option("loader", "how batches are prepared; only drop_last changes results")
                .fields({Option("threads", "worker threads; with 0 the training thread prepares the batches")
                             .integer()
                             .at_least(0)
                             .at_most(64)
                             .or_default(1)
                             .of_speed_alone(),
                         Option("prefetch", "least number of batches that are prepared ahead")
                             .integer()
                             .at_least(1)
                             .at_most(1024)
                             .or_default(4)
                             .of_speed_alone(),
                         Option("drop_last", "leave out an epoch's last, smaller batch").boolean().or_default(false)}))
      .with(Option("on", "functions that are called during the run; each receives the run")
                .fields({Option("start", "before the first step; not again when the fit is resumed")
                             .function("function(run)"),
                         Option("step", "after each step").function("function(run)"),
                         Option("validate", "after each validation").function("function(run)"),
                         Option("epoch", "after each epoch, after its validation").function("function(run)"),
                         Option("checkpoint", "before each checkpoint is written").function("function(run)"),
                         Option("finish", "at the end, with the weights that are kept; an error here keeps the result")
                             .function("function(run)")})
                .by_member()
                .mendable()
                .of_whole_training())
      .returns("a stage: run it with lab.run, or return it from the recipe")
      .example(
          "return lab.fit {\n"
          "  name = \"digits\", data = lab.data.digits():split { train = 0.9, val = 0.1 },\n"
          "  model = lab.nn.Sequential { lab.nn.Flatten(), lab.nn.Linear(64), lab.nn.ReLU(), lab.nn.Linear(10) },\n"
          "  loss = \"cross_entropy\", metrics = { \"accuracy\" }, optim = lab.optim.AdamW { lr = 3e-3 }, epochs = "
          "20,\n"
          "}");
}

void check_additions(const FitPlan& plan) {
  for (const FitAddition& addition : additions_of(plan.options)) {
    if (addition.check) addition.check(plan);
  }
}


// The plan, or another one where a step of what a budget has just chosen takes more than was predicted.
std::shared_ptr<const FitPlan> corrected(const std::shared_ptr<const FitPlan>& plan, const Options& stage,
                                         const RunSettings& settings) {
  if (!is_auto_memory(stage) || !settings.chosen.is_nil()) return plan;
  std::optional<FitPlan> again = corrected_choice(*plan, stage, settings);
  if (!again) return plan;
  check_additions(*again);
  return std::make_shared<const FitPlan>(std::move(*again));
}

// The FLOPs of a step are known before it, other than its time: a share of the budget that no step fits into is
// refused.
void check_step_fits(const FitPlan& plan, const StageContext& context) {
  if (context.resumed || !(plan.steps_within(context.most_flops) < 1)) return;
  throw usage_error("a step needs " + number_text(plan.flops_until(1)) + " FLOPs, and of its budget stage " +
                    context.name + " has " + number_text(context.most_flops))
      .hint("more flops in lab.budget, or a smaller batch");
}

// LibTorch's errors become ours here: the code that runs stages does not know LibTorch.
StageWork prepare_fit(const Options& stage, const RunSettings& settings) {
  auto first = with_torch_errors([&] { return std::make_shared<const FitPlan>(plan_with_additions(stage, settings)); });
  // The work is done once, and does not hold the data of the first plan beyond its own training.
  return [first, stage, settings](const StageContext& context) mutable {
    auto plan = with_torch_errors([&] { return corrected(std::exchange(first, nullptr), stage, settings); });
    check_step_fits(*plan, context);
    for (const std::string& warning : plan->warnings) context.warn(warning);
    if (const auto warning = slow_products(*plan)) context.warn(*warning);
    for (const std::string& note : plan->notes) context.say(note);
    // In one write: a run that goes on takes whatever the manifest has for the whole choice.
    if (!plan->chosen.is_nil() && settings.chosen.is_nil() && context.choose) {
      context.choose(plan->chosen);
      if (const Value& type = plan->chosen["precision"]; type.is_string() && context.say_inexact) {
        context.say_inexact("memory.budget chose precision = \"" + type.string() +
                            "\", in which this processor multiplies faster; another machine may choose otherwise");
      }
    }
    const FitAttempts attempts{
        .plan = [&](const RunSettings& fixed,
                    const DataParts* opened) { return plan_with_additions(stage, fixed, opened); },
        .train =
            [&](const FitPlan& attempted, const StageContext& attempt) {
              FitMember member{.options = attempted.options, .context = attempt};
              FitCompany company;
              for (const FitAddition& addition : additions_of(stage)) addition.join(attempted, member, company);
              return run_fits(attempted, {&member, 1}, false, company).front();
            }};
    return with_torch_errors([&] { return train_with_fixes(std::move(plan), context, attempts); });
  };
}

}  // namespace

Checked check_fit(FitPlan plan, const CheckedToo& too) {
  // Under --memory the training itself would be refused. Without a limit, another machine may have the room.
  if (tensor_memory_limit() > 0) check_room(plan, 1);
  Checked checked = describe(plan);
  const auto add = [&checked](const char* name, const Checked& tried) {
    checked.text += tried.text;
    checked.facts.set(name, tried.facts);
  };
  if (too.step) add("step", try_step(plan));
  if (too.callbacks) add("callbacks", try_callbacks(std::move(plan)));
  return checked;
}

void register_fit(Registry& registry, const std::vector<FitAddition>& additions) {
  Entry entry = fit_entry();
  for (const FitAddition& addition : additions) {
    for (const Option& option : addition.options) entry.with(option);
    std::vector<Option>& on = std::ranges::find(entry.options, "on", &Option::name)->nested;
    on.insert(on.end(), addition.callbacks.begin(), addition.callbacks.end());
  }
  const auto check = [](const Options& stage, const RunSettings& settings, const CheckedToo& too) {
    return check_fit(plan_with_additions(stage, settings), too);
  };
  const auto publish = [additions](const Value& summary, const std::filesystem::path& run) {
    std::vector<std::string> lines;
    for (const FitAddition& addition : additions) {
      if (!addition.publish) continue;
      if (std::string line = addition.publish(summary, run); !line.empty()) lines.push_back(std::move(line));
    }
    return lines;
  };
  registry.add(
      std::move(entry),
      StageKind{.counts_flops = true, .prepare = prepare_fit, .check = check, .publish = publish, .own = additions});
}

FitPlan plan_with_additions(const Options& fit, const RunSettings& settings, const DataParts* opened) {
  FitPlan plan = plan_fit(fit, settings, opened);
  check_additions(plan);
  return plan;
}

const std::vector<FitAddition>& additions_of(const Options& fit) {
  const auto& kind = fit.registry().implementation<StageKind>(fit.entry());
  return *std::any_cast<std::vector<FitAddition>>(&kind.own);
}

}  // namespace trainlab

#include "train/fit_plan.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "core/trace.h"
#include "fit_plan_parts.h"
#include "memory/within_budget.h"
#include "optim/average.h"
#include "optim/optimizer.h"
#include "precision.h"
#include "train/gradient_reader.h"
#include "train/rules.h"

namespace trainlab {
namespace {

LoaderOptions loader_options(const FitPlan& plan, const Value& chosen) {
  const Options& fit = plan.options;
  LoaderOptions loader;
  if (is_auto_batch(fit)) {
    loader.batch = chosen["batch"].integer();
  } else {
    const std::int64_t asked = fit.integer("batch");
    loader.batch = fit.given("batch") ? asked : std::min(asked, plan.data.train.epoch_size());
  }
  loader.float_type = plan.precision.batches;
  loader.device = plan.device;
  if (fit.given("loader")) {
    const Options given = fit.child("loader");
    loader.drop_last = given.boolean("drop_last");
    loader.threads = static_cast<int>(given.integer("threads"));
    loader.prefetch = static_cast<int>(given.integer("prefetch"));
  }
  return loader;
}

void plan_monitor(FitPlan& plan) {
  const Options& fit = plan.options;
  const bool validates = plan.data.val.has_value() && plan.measures();
  plan.monitor = fit.given("monitor") ? fit.string("monitor") : validates ? "val.loss" : "train.loss";
  if (plan.step && plan.monitor.starts_with("train.")) {
    // The metrics that the step returns are known only after it has run.
    if (plan.monitor != "train.loss" && !fit.given("goal")) {
      throw fit.error("goal", "missing: " + plan.monitor + " is a metric of the recipe's own")
          .hint("goal = \"min\" or \"max\"");
    }
    plan.keep_best = fit.given("keep") && fit.string("keep") == "best";
    return;
  }
  if (plan.monitor.starts_with("val.") && !validates) {
    if (plan.data.val) {
      throw fit
          .error("monitor", "\"" + plan.monitor +
                                "\" needs a loss, which measures the validation part, and this "
                                "fit has none")
          .hint("loss = \"cross_entropy\" beside `step`");
    }
    throw fit.error("monitor", "\"" + plan.monitor + "\" needs a validation part, and the data has none")
        .hint("data:split { train = 0.9, val = 0.1 }");
  }
  bool minimize = false;
  try {
    plan.check_watched(plan.monitor);
    minimize = plan.minimize(plan.monitor);
  } catch (Error& error) {
    throw fit.error("monitor", error.message()).hint(error.hint());
  }
  if (fit.given("goal") && (fit.string("goal") == "min") != minimize) {
    throw fit.error("goal", plan.monitor + " is better when " + (minimize ? "smaller" : "greater") +
                                ", found goal = \"" + fit.string("goal") + "\"");
  }
  plan.keep_best = fit.given("keep") ? fit.string("keep") == "best" : validates;
  if (plan.keep_best && !validates) {
    throw fit.error("keep", "\"best\" needs a validation part, and the data has none").hint("keep = \"last\"");
  }
}

void plan_loss(FitPlan& plan) {
  const Options& fit = plan.options;
  if (!fit.given("loss")) {
    if (!plan.step) throw fit.error("loss", "missing; expected a loss").hint("loss = \"cross_entropy\"");
    if (fit.given("metrics")) throw fit.error("metrics", "go with a loss: both are measured on the validation part");
    return;
  }
  plan_objective(plan);
}

// The optimizer on tensors named and shaped like the parameters that it trains, without values: to check it and to ask
// for the size of its state.
std::unique_ptr<Optimizer> probe_optimizer(const Model& model, const Options& optimizer, const Precision& precision) {
  std::vector<OptimizedParameter> parameters;
  for (const ParameterInfo& info : model.parameters()) {
    if (!info.trains) continue;
    const at::Tensor value = at::empty(info.shape, at::device(at::kMeta).dtype(info.stored_in(precision.weights)));
    parameters.push_back({.name = info.name, .value = value, .decays = info.decays, .rounding = precision.rounding});
  }
  return make_optimizer({&optimizer, 1}, std::move(parameters), 0);
}

// Measured on an optimizer of its spec instead of tabulated per kind. The counts of steps take no memory to speak of.
std::int64_t state_bytes(Optimizer& optimizer) {
  std::int64_t sum = 0;
  for (const auto& [name, tensor, per_member] : optimizer.state()) {
    if (name != "step") sum += static_cast<std::int64_t>(tensor.nbytes());
  }
  return sum;
}

// The models and optimizers that a step changes, in one form for both kinds of fit.
std::vector<FitPlan::StepModel> trained_models(const FitPlan& plan) {
  if (plan.step) return plan.step_models;
  return {{"", plan.model, plan.options.child("optim"), plan.clip, {}}};
}

void check_average(const FitPlan& plan) {
  if (!plan.options.given("ema")) return;
  if (const Options optimizer = plan.options.child("optim"); keeps_average(optimizer))
    throw plan.options
        .error("ema", optimizer.entry().name +
                          " keeps an average of its own, and an average of its trained weights "
                          "is of no use")
        .hint("remove ema, or take optim.SGD or optim.AdamW");
  const std::vector<Options> spec{plan.options.child("ema")};
  WeightAverage(spec, plan.length, {}, 0);
}

}  // namespace

const LossKind* FitPlan::loss_kind() const {
  if (step || !options.given("loss") || !options.is_entry("loss")) return nullptr;
  const Options own = options.child("loss");
  return &own.registry().implementation<LossKind>(own.entry());
}

std::int64_t FitPlan::parameter_count() const {
  if (model) return model->parameter_count();
  std::int64_t sum = 0;
  for (const StepModel& one : step_models) sum += one.model->parameter_count();
  return sum;
}

namespace {

// The plan with the batch that it has chosen itself.
FitPlan plan_auto_batch(const Options& options, const RunSettings& settings, const DataParts* opened) {
  RunSettings with = settings;
  with.chosen.set("batch", 1);
  const FitPlan small = plan_fit(options, with, opened);
  const std::int64_t batch = largest_batch(small, settings);
  if (!small.chosen.is_nil()) with.chosen = small.chosen;
  with.chosen.set("batch", batch);
  FitPlan plan = plan_fit(options, with, &small.data);
  plan.chosen = with.chosen;
  std::string note = "batch = \"auto\": " + std::to_string(batch) + " samples";
  if (plan.accumulate > 1) note += ", accumulate = " + std::to_string(plan.accumulate);
  plan.notes.push_back(note + ", " + std::to_string(plan.length.steps_per_epoch) + " steps an epoch");
  return plan;
}

FitPlan plan_with_fixes(const Options& options, const RunSettings& settings, const DataParts* opened) {
  std::vector<Fix> fixes;
  for (const Value& one : settings.fixes) fixes.push_back(fix_of_value(one));
  RunSettings without = settings;
  without.fixes.clear();
  FitPlan plan = plan_fit(with_fixes(options, fixes), without, opened);
  for (const Fix& fix : fixes)
    plan.notes.push_back("health: goes on with " + text_of(fix) + ", because of " + fix.kind + " at step " +
                         std::to_string(fix.step));
  plan.fixes = std::move(fixes);
  return plan;
}

}  // namespace

bool is_auto_batch(const Options& fit) { return fit.get("batch") == Value("auto"); }

FitPlan plan_fit(const Options& options, const RunSettings& settings, const DataParts* opened) {
  if (!settings.fixes.empty()) return plan_with_fixes(options, settings, opened);
  if (is_auto_batch(options) && settings.chosen["batch"].is_nil()) return plan_auto_batch(options, settings, opened);
  if (is_auto_memory(options)) return plan_within_budget(options, settings, opened);
  FitPlan plan(options);
  plan.settings = settings;
  plan.seed = options.given("seed") ? options.integer("seed") : settings.seed;
  plan.precision = precision_of(options);
  plan.device = parse_device(settings.device);
  plan.folder = settings.folder;
  // Splits use the run's seed, not the fit's: fits that are compared or averaged share a split.
  plan.data = opened ? *opened : open_data(options.child("data"), {.seed = settings.seed});
  plan.warnings.insert(plan.warnings.end(), plan.data.warnings.begin(), plan.data.warnings.end());
  plan_models(plan);
  check_precision(plan);
  plan_loss(plan);

  plan.loader = loader_options(plan, settings.chosen);
  plan_length(plan, settings);
  if (plan.loss) {
    const std::vector<std::string> more = warnings_of(plan);
    plan.warnings.insert(plan.warnings.end(), more.begin(), more.end());
  }
  plan_intervals(plan);
  if (!plan.step) plan.clip = clip_of(options, "clip");
  plan_monitor(plan);
  // Made here once to be checked: members make their own.
  plan.steps_by_parameter = true;
  for (const FitPlan::StepModel& one : trained_models(plan)) {
    const auto probe = probe_optimizer(*one.model, one.optimizer, plan.precision);
    plan.steps_by_parameter = plan.steps_by_parameter && probe->steps_by_parameter();
    plan.state_bytes += state_bytes(*probe);
  }
  for (const FitPlan::StepModel& one : plan.step_models) {
    if (keeps_average(one.optimizer))
      throw one.optimizer
          .error("", one.optimizer.entry().name +
                         " keeps averaged weights beside the trained ones, and a fit with a "
                         "step of its own validates the trained ones")
          .hint("it works in lab.fit without `step`");
    if (one.model->parameters().empty()) throw one.optimizer.error("", "expected parameters to optimize, found none");
    step_schedules_of(plan, one, Key(0));
  }
  if (!plan.step) {
    schedules_of(options, "schedule", options.child("optim"), plan.length, Key(0));
    for (const Error& warning : warnings_of_schedules(options, plan.length)) plan.warnings.emplace_back(warning.what());
  }
  check_average(plan);
  for (const auto& rule : stop_rules_of(options, plan, nullptr, Key(0))) {
    if (const GradientReader* const reader = rule->gradient_reader()) plan.rule_numbers += reader->numbers_per_weight();
  }
  plan_memory(plan, settings);
  return plan;
}

Batch next_batch(const FitPlan& plan, Loader& loader) {
  const Span span(Phase::fetch);
  try {
    return loader.next();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::recipe || !error.file().empty()) throw;
    Error placed = plan.options.child("data").error("", error.message());
    throw placed.hint(error.hint());
  }
}

MemoryEstimate estimate_memory(const FitPlan& plan) {
  double weights = 0, gradients = 0, activations = 0, average = 0;
  double optimizer = plan.offload_optimizer ? 0 : static_cast<double>(plan.state_bytes);
  for (const FitPlan::StepModel& one : trained_models(plan)) {
    for (const ParameterInfo& parameter : one.model->parameters()) {
      const auto values = static_cast<double>(element_count(parameter.shape));
      const double bytes = values * static_cast<double>(c10::elementSize(parameter.stored_in(plan.precision.weights)));
      weights += bytes;
      average += values * static_cast<double>(c10::elementSize(plan.precision.loss));
      if (parameter.trains) gradients += bytes;
    }
    activations += one.model->kept_bytes(plan.precision.compute) * static_cast<double>(plan.loader.batch);
  }
  if (plan.options.given("ema")) optimizer += average;
  const auto data = static_cast<double>(plan.data.train.data->bytes());
  return {.weights = weights, .gradients = gradients, .optimizer = optimizer, .activations = activations, .data = data};
}

}  // namespace trainlab

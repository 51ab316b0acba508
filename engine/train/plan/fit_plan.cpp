#include "train/fit_plan.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/time_in_seconds.h"
#include "core/trace.h"
#include "fit_plan_parts.h"
#include "memory/within_budget.h"
#include "model/initial.h"
#include "optim/average.h"
#include "optim/optimizer.h"
#include "precision.h"
#include "train/rules.h"

namespace trainlab {
namespace {

std::size_t column_index(const Dataset& data, std::string_view name) {
  for (std::size_t i = 0; i < data.columns.size(); ++i) {
    if (data.columns[i].name == name) return i;
  }
  throw recipe_error("the data has no column \"" + std::string(name) + "\"");
}

Signals signals_of(const Dataset& data) {
  Signals signals;
  for (const Column& column : data.columns) {
    signals[column.name] = {.shape = column.sample_shape(),
                            .integers = c10::isIntegralType(column.batch_type(), /*includeBool=*/true)};
  }
  return signals;
}

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

std::int64_t steps_per_epoch(const FitPlan& plan) {
  const std::int64_t n = plan.data.train.epoch_size(), batch = plan.loader.batch;
  if (batch > n) {
    throw plan.options
        .error("batch",
               "expected at most the " + std::to_string(n) + " training samples, found " + std::to_string(batch))
        .hint("use a smaller batch, or more data");
  }
  const std::int64_t batches = plan.loader.drop_last ? n / batch : (n + batch - 1) / batch;
  return (batches + plan.accumulate - 1) / plan.accumulate;
}

// `trainlab extend --time`: the budget of time of the recipe gives way to a larger one.
void extend_time(FitPlan& plan, const RunSettings& settings) {
  if (plan.time_budget == 0) {
    throw usage_error("expected a fit with a budget of time, found one without")
        .hint("--epochs N or --steps N give a fit a new length");
  }
  if (settings.extends_now) check_more_time(settings, plan.time_budget);
  plan.time_budget = settings.extended.back().count;
}

// The steps of the last batch that fits into the FLOPs of the option.
std::int64_t steps_of_flops(const FitPlan& plan) {
  const Options& fit = plan.options;
  if (plan.step) {
    throw fit.error("flops", "nobody knows the FLOPs of a training step of the recipe's own")
        .hint("epochs = 10, steps = 5000 or time = \"10 min\"");
  }
  const double given = fit.number("flops"), steps = plan.steps_within(given);
  const double step = plan.sample_flops() * static_cast<double>(plan.length.batch);
  constexpr double most = 9e15;  // beyond, doubles skip whole numbers
  if (steps >= 1 && steps <= most) return static_cast<std::int64_t>(steps);
  throw fit.error("flops", "expected from " + number_text(step) + ", the FLOPs of one step of " +
                               std::to_string(plan.length.batch) + " samples, to " + number_text(most * step) +
                               ", found " + number_text(given));
}

// Exactly one of epochs, steps and flops; `time` bounds each, or stands alone.
void plan_length(FitPlan& plan, const RunSettings& settings) {
  const Options& fit = plan.options;
  plan.accumulate = fit.integer("accumulate");
  plan.length.batch = plan.loader.batch * plan.accumulate;
  plan.length.steps_per_epoch = steps_per_epoch(plan);
  const bool epochs = fit.given("epochs"), steps = fit.given("steps"), flops = fit.given("flops");
  if (epochs + steps + flops > 1) {
    const std::string second = flops ? "flops" : "steps", first = epochs ? "epochs" : "steps";
    throw fit.error(second, "expected either " + first + " or " + second + ", found both")
        .hint("leave one of them out; --set " + first + "=nil removes the recipe's value");
  }
  if (fit.given("time")) {
    plan.time_budget = time_in_seconds(fit, "time");
  } else if (!epochs && !steps && !flops && settings.extended.empty()) {
    throw fit.error("epochs", "expected a length, found none").hint("epochs = 10, steps = 5000 or time = \"10 min\"");
  }
  if (settings.counts_flops && !std::isfinite(plan.sample_flops())) {
    throw fit.error("", "nobody knows the FLOPs of this fit, and lab.budget has flops")
        .hint("lab.budget { time = \"2 h\" }");
  }
  // A fit is extended by one total alone: where there is a budget of time, only the time.
  const NewTotal* extended = settings.extended.empty() ? nullptr : &settings.extended.back();
  const bool by_time = extended && extended->is_time();
  if (by_time) extend_time(plan, settings);
  if (extended && !by_time) {
    plan.length.total_steps =
        static_cast<std::int64_t>(extended->count) * (extended->unit == "epochs" ? plan.length.steps_per_epoch : 1);
  } else if (epochs) {
    plan.length.total_steps = fit.integer("epochs") * plan.length.steps_per_epoch;
  } else if (steps) {
    plan.length.total_steps = fit.integer("steps");
  } else if (flops) {
    plan.length.total_steps = steps_of_flops(plan);
  }
}

// Steps between two validations or checkpoints.
std::int64_t interval(const FitPlan& plan, const char* option) {
  const Duration every = plan.options.duration(option);
  const auto steps = in_steps(every, plan.length.steps_per_epoch, plan.length.batch, plan.length.total_steps);
  if (!steps) {
    throw plan.options.error(
        option, "expected steps, epochs, samples or a percentage of a known length, found \"" + to_text(every) + "\"");
  }
  if (*steps < 1) throw plan.options.error(option, "expected at least one step, found \"" + to_text(every) + "\"");
  return *steps;
}

void plan_intervals(FitPlan& plan) {
  plan.validate_every = interval(plan, "validate");
  if (!plan.options.given("checkpoint")) return;
  const Duration checkpoint = plan.options.duration("checkpoint");
  if (checkpoint.unit == Unit::seconds) {
    plan.checkpoint.seconds = checkpoint.amount;
  } else {
    plan.checkpoint.steps = interval(plan, "checkpoint");
  }
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
  const std::vector<std::string> more = warnings_of(plan);
  plan.warnings.insert(plan.warnings.end(), more.begin(), more.end());
}

void initialize(FitPlan& plan, Model& model, const Options& options, std::string_view option) {
  const std::vector<std::string> lines = initialize_by_pattern(model, options, option);
  plan.warnings.insert(plan.warnings.end(), lines.begin(), lines.end());
}

std::shared_ptr<const Model> only_model(FitPlan& plan, Signals columns) {
  const Options& fit = plan.options;
  if (fit.is_keyed("freeze")) {
    throw fit.error("freeze", "expected patterns, found a table by name")
        .hint("freeze = { \"1.*\" }; names are of several models");
  }
  auto model = std::make_shared<Model>(fit.child("model"), std::move(columns), plan.precision.of_layers());
  initialize(plan, *model, fit, "init");
  plan.initial_optimizer = initial_optimizer(fit, "init");
  if (plan.step && !plan.initial_optimizer.empty())
    throw fit.child("init").error("optimizer", "a fit with a step of its own keeps its optimizers itself");
  freeze_by_pattern(*model, fit, "freeze");
  return model;
}

bool names(const Options& fit, const char* option, const std::string& name) {
  if (!fit.is_keyed(option)) return false;
  const std::vector<std::string> all = fit.keyed(option).names();
  return std::find(all.begin(), all.end(), name) != all.end();
}

// Losses and metrics of trainlab's own look at the output of one model.
void require_functions(const Options& fit) {
  const auto refuse = [&](const char* option) {
    throw fit.error(option, "expected functions, because there are several models")
        .hint("function(out, batch, run) … end, in which out is nil and run.model has the models");
  };
  if (fit.given("loss")) {
    for (const Options::Element& loss : single_losses(fit))
      if (loss.entry) refuse("loss");
  }
  for (const Options::Element& metric : fit.elements("metrics"))
    if (metric.entry && !metric.entry->value()["@"].is_nil()) refuse("metrics");
}

// A step of the recipe's own: one model, or several by name, each with its optimizer.
void plan_own_step(FitPlan& plan) {
  const Options& fit = plan.options;
  plan.step = fit.function("step");
  const Signals columns = signals_of(*plan.data.train.data);
  for (const char* option : {"ema", "accumulate"}) {
    if (fit.given(option))
      throw fit.error(option, "a fit with a step of its own has no such option; the step can do it");
  }
  if (!fit.is_keyed("model")) {
    plan.model = only_model(plan, fit.given("input") ? Signals{{"x", {.shape = fit.integers("input")}}} : columns);
    plan.step_models.push_back({"", plan.model, fit.child("optim"), clip_of(fit, "clip"), {}});
    return;
  }
  require_functions(fit);
  for (const char* option : {"init", "freeze"}) {
    if (fit.given(option) && !fit.is_keyed(option)) {
      throw fit.error(option, "expected a table by the name of a model")
          .hint(std::string(option) + " = { " + fit.keyed("model").names().front() + " = … }");
    }
  }
  const Options models = fit.keyed("model");
  if (!fit.is_keyed("optim")) throw fit.error("optim", "expected an optimizer for each model, by name");
  if (fit.given("input") && !fit.is_keyed("input")) throw fit.error("input", "expected sizes by the name of a model");
  const Options optimizers = fit.keyed("optim");
  const std::vector<std::string> all = models.names();
  for (const char* option : {"optim", "input", "schedule", "clip", "init", "freeze"}) {
    if (!fit.is_keyed(option)) continue;
    for (const std::string& name : fit.keyed(option).names()) {
      if (!names(fit, "model", name)) {
        throw fit.error(option, "there is no model named \"" + name + "\"");
      }
    }
  }
  for (const std::string& name : all) {
    // Names are parts of tensors' names in checkpoints: model.g.2.weight.
    if (name.empty() || name.find('.') != std::string::npos) {
      throw fit.error("model", "expected a name without a dot, found \"" + name + "\"");
    }
    if (!names(fit, "optim", name)) throw fit.error("optim", "there is no optimizer for the model \"" + name + "\"");
    FitPlan::StepModel one{.name = name,
                           .model = nullptr,
                           .optimizer = optimizers.child(name),
                           .clip = fit.is_keyed("clip") ? Clip() : clip_of(fit, "clip"),
                           .input = {}};
    if (names(fit, "input", name)) one.input = fit.keyed("input").integers(name);
    if (names(fit, "clip", name)) one.clip = clip_of(fit.keyed("clip"), name);
    const auto model = std::make_shared<Model>(
        models.child(name), one.input ? Signals{{"x", {.shape = *one.input}}} : columns, plan.precision.of_layers());
    if (names(fit, "init", name)) initialize(plan, *model, fit.keyed("init"), name);
    if (names(fit, "freeze", name)) freeze_by_pattern(*model, fit.keyed("freeze"), name);
    one.model = model;
    plan.step_models.push_back(std::move(one));
  }
}

// The optimizer on tensors named and shaped like the parameters that it trains, without values: to check it and to ask
// for the size of its state.
std::unique_ptr<Optimizer> probe_optimizer(const Model& model, const Options& optimizer, at::ScalarType type) {
  std::vector<OptimizedParameter> parameters;
  for (const ParameterInfo& info : model.parameters()) {
    if (!info.trains) continue;
    const at::Tensor value = at::empty(info.shape, at::device(at::kMeta).dtype(type));
    parameters.push_back({.name = info.name, .value = value, .decays = info.decays});
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

std::int64_t FitPlan::parameter_count() const {
  if (model) return model->parameter_count();
  std::int64_t sum = 0;
  for (const StepModel& one : step_models) sum += one.model->parameter_count();
  return sum;
}

double FitPlan::sample_flops() const {
  if (step) return std::nan("");
  const Flops flops = model->flops();
  return flops.forward + flops.backward;
}

namespace {

// Samples of an epoch that are in a batch; the last batch may be smaller than the others.
double batched_samples(const FitPlan& plan) {
  const std::int64_t n = plan.data.train.epoch_size();
  return static_cast<double>(plan.loader.drop_last ? n - n % plan.loader.batch : n);
}

}  // namespace

double FitPlan::flops_until(std::int64_t count) const {
  const std::int64_t epochs = count / length.steps_per_epoch, rest = count % length.steps_per_epoch;
  return sample_flops() *
         (static_cast<double>(epochs) * batched_samples(*this) + static_cast<double>(rest * length.batch));
}

double FitPlan::steps_within(double flops) const {
  if (std::isinf(flops)) return flops;
  const double samples = batched_samples(*this);
  const double sample = sample_flops(), epochs = std::floor(flops / (sample * samples));
  return epochs * static_cast<double>(length.steps_per_epoch) +
         std::floor((flops - epochs * sample * samples) / (sample * static_cast<double>(length.batch)));
}

namespace {

// The plan with the batch that it has chosen itself.
FitPlan plan_auto_batch(const Options& options, const RunSettings& settings, const DataParts* opened) {
  RunSettings with = settings;
  with.chosen.set("batch", 1);
  const FitPlan small = plan_fit(options, with, opened);
  const std::int64_t batch = largest_batch(small);
  with.chosen.set("batch", batch);
  FitPlan plan = plan_fit(options, with, &small.data);
  plan.chosen = with.chosen;
  plan.notes.push_back("batch = \"auto\": " + std::to_string(batch) + " samples, " +
                       std::to_string(plan.length.steps_per_epoch) + " steps an epoch");
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
  plan.seed = options.given("seed") ? options.integer("seed") : settings.seed;
  plan.precision = precision_of(options);
  plan.device = parse_device(settings.device);
  plan.folder = settings.folder;
  // Splits use the run's seed, not the fit's: fits that are compared or averaged share a split.
  plan.data = opened ? *opened : open_data(options.child("data"), {.seed = settings.seed});
  const Dataset& data = *plan.data.train.data;
  if (options.given("step")) {
    plan_own_step(plan);
  } else {
    for (const char* option : {"model", "optim", "schedule", "clip", "input"}) {
      if (options.is_keyed(option) || (option == std::string_view("input") && options.given(option))) {
        throw options
            .error(option, "several models by name, and inputs of their own, need a training step of the recipe's own")
            .hint("step = function(run, batch) … end");
      }
    }
    plan.model = only_model(plan, signals_of(data));
  }
  if (plan.model) {
    for (const std::string& column : plan.model->columns()) plan.inputs.push_back(column_index(data, column));
  }
  check_precision(plan);
  plan_loss(plan);

  plan.loader = loader_options(plan, settings.chosen);
  plan_length(plan, settings);
  plan_intervals(plan);
  if (!plan.step) plan.clip = clip_of(options, "clip");
  plan_monitor(plan);
  // Made here once to be checked: members make their own.
  plan.steps_by_parameter = true;
  for (const FitPlan::StepModel& one : trained_models(plan)) {
    const auto probe = probe_optimizer(*one.model, one.optimizer, plan.precision.weights);
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
  stop_rules_of(options, plan, nullptr, Key(0));
  plan_memory(plan);
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
  const auto value = static_cast<double>(c10::elementSize(plan.precision.weights));
  const double weights = static_cast<double>(plan.parameter_count()) * value;
  double gradients = 0, optimizer = plan.offload_optimizer ? 0 : static_cast<double>(plan.state_bytes), activations = 0;
  for (const FitPlan::StepModel& one : trained_models(plan)) {
    double trained = 0;
    for (const ParameterInfo& parameter : one.model->parameters()) {
      if (parameter.trains) trained += static_cast<double>(element_count(parameter.shape)) * value;
    }
    gradients += trained;
    activations += one.model->kept_bytes(plan.precision.compute) * static_cast<double>(plan.loader.batch);
  }
  if (plan.options.given("ema")) optimizer += weights;
  const auto data = static_cast<double>(plan.data.train.data->bytes());
  return {.weights = weights, .gradients = gradients, .optimizer = optimizer, .activations = activations, .data = data};
}

void check_more_time(const RunSettings& settings, double before) {
  const NewTotal& wanted = settings.extended.back();
  if (wanted.count <= before) throw wanted.no_more_than(to_text(Duration{before, Unit::seconds}));
}

}  // namespace trainlab

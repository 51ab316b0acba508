// The models of a fit: one, or several that a training step of the recipe's own trains.
#include <algorithm>

#include "data/tokenizer.h"
#include "fit_plan_parts.h"
#include "model/initial.h"
#include "objective/loss.h"

namespace trainlab {

namespace {

std::size_t column_index(const Dataset& data, std::string_view name) {
  for (std::size_t i = 0; i < data.columns.size(); ++i) {
    if (data.columns[i].name == name) return i;
  }
  throw recipe_error("the data has no column \"" + std::string(name) + "\"");
}

// All tokens of text are below this number; 0: not known. Bytes of a text are seldom all there are.
std::int64_t number_of_tokens(const DataParts& data, const Column& column) {
  if (column.name != "x" || !column.as_int64 || !data.state.contains("tokenizer") || !data.train.transforms.empty())
    return 0;
  const Tokenizer tokenizer = Tokenizer::load(data.state);
  if (tokenizer.is_bytes()) return 0;
  return tokenizer.size() + (data.state.contains("table") ? 1 : 0);  // in a table 0 fills up
}

Signals signals_of(const DataParts& data) {
  Signals signals;
  for (const Column& column : data.train.data->columns) {
    signals[column.name] = {.shape = column.sample_shape(),
                            .integers = c10::isIntegralType(column.batch_type(), /*includeBool=*/true),
                            .integers_below = number_of_tokens(data, column)};
  }
  return signals;
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
  const Signals columns = signals_of(plan.data);
  for (const char* option : {"ema", "accumulate", "effective"}) {
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

}  // namespace

void plan_models(FitPlan& plan) {
  const Options& options = plan.options;
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
    plan.model = only_model(plan, signals_of(plan.data));
  }
  if (plan.model) {
    for (const std::string& column : plan.model->columns()) plan.inputs.push_back(column_index(data, column));
  }
}

}  // namespace trainlab

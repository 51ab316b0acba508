#include <cmath>

#include "fit_text.h"
#include "memory/memory_summary.h"
#include "precision.h"
#include "tensor/types.h"

namespace trainlab {

namespace {

Value list_of(const std::vector<std::string>& texts) { return Value::List(texts.begin(), texts.end()); }
Value list_of(const Shape& shape) { return Value::List(shape.begin(), shape.end()); }

// The arithmetic of a layer of the recipe's own is not known.
Value known(double x) { return std::isnan(x) ? Value() : Value(x); }

Value data_facts(const FitPlan& plan) {
  const Dataset& data = *plan.data.train.data;
  Value::Map facts{{"train", plan.data.train.epoch_size()}};
  if (plan.data.val) facts["val"] = plan.data.val->size();
  if (plan.data.test) facts["test"] = plan.data.test->size();
  if (const std::int64_t classes = plan.loss ? plan.head.classes : data.classes; classes > 0)
    facts["classes"] = classes;
  Value::List columns;
  for (const Column& column : data.columns) {
    columns.push_back(Value::Map{
        {"name", column.name}, {"dtype", dtype_name(column.batch_type())}, {"shape", list_of(column.sample_shape())}});
  }
  facts["columns"] = std::move(columns);
  return facts;
}

void add_layers(Value::List& layers, const Layer& layer) {
  layers.push_back(Value::Map{{"path", layer.path},
                              {"layer", layer.printed},
                              {"output", list_of(layer.output)},
                              {"parameters", static_cast<std::int64_t>(layer.own_parameters)},
                              {"flops", known(layer.flops().forward)}});
  for (const Layer* child : layer.children()) add_layers(layers, *child);
}

// Each model with its name, which is nil where the fit has one model only.
Value model_facts(const FitPlan& plan) {
  Value::List models;
  const auto add = [&models](Value name, const Model& model) {
    Value::List layers;
    add_layers(layers, model.root());
    models.push_back(
        Value::Map{{"name", std::move(name)}, {"parameters", model.parameter_count()}, {"layers", std::move(layers)}});
  };
  if (plan.model) add(Value(), *plan.model);
  for (const FitPlan::StepModel& one : plan.step_models) add(one.name.empty() ? Value() : Value(one.name), *one.model);
  return models;
}

Value length_facts(const FitPlan& plan) {
  Value::Map facts{{"batch", plan.length.batch}, {"steps_per_epoch", plan.length.steps_per_epoch}};
  if (plan.length.total_steps > 0) facts["steps"] = plan.length.total_steps;
  if (plan.time_budget > 0) facts["seconds"] = plan.time_budget;
  return facts;
}

Value flops_facts(const FitPlan& plan) {
  const Flops flops = plan.model->flops();
  Value::Map facts{{"forward", known(flops.forward)}, {"backward", known(flops.backward)}};
  if (plan.length.total_steps > 0) {
    const double samples = static_cast<double>(plan.length.total_steps) * static_cast<double>(plan.length.batch);
    facts["run"] = known((flops.forward + flops.backward) * samples);
  }
  return facts;
}

Value memory_facts(const FitPlan& plan, const MemoryPrediction& memory) {
  Value facts = memory.memory.ledger.to_value();
  facts.set("step", memory.memory.step());
  facts.set("peak", memory.memory.training());
  for (const char* recorded : {"curve", "layers"}) facts.map().erase(recorded);
  const std::int64_t limit = memory_limit(plan);
  if (limit > 0) facts.set("budget", limit);
  if (plan.plain_training) facts.set("plain", *plan.plain_training);
  facts.set("chosen", list_of(memory_options_in_use(plan, 0)));
  if (plan.offload_optimizer) facts.set("offloaded", plan.state_bytes);
  if (memory.is_least()) facts.set("estimated_because", memory.estimated_because);
  return facts;
}

}  // namespace

Value fit_facts(const FitPlan& plan, const MemoryPrediction& memory, const std::vector<std::string>& warnings) {
  Value facts = Value::Map{{"name", plan.options.string("name")},
                           {"kind", "fit"},
                           {"where", plan.options.where()},
                           {"data", data_facts(plan)},
                           {"models", model_facts(plan)},
                           {"parameters", plan.parameter_count()},
                           {"length", length_facts(plan)},
                           {"memory", memory_facts(plan, memory)},
                           {"precision", precision_text(plan.precision)},
                           {"monitor", plan.monitor},
                           {"goal", plan.minimize(plan.monitor) ? "min" : "max"},
                           {"keep", plan.keep_best ? "best" : "last"},
                           {"notes", list_of(plan.notes)},
                           {"warnings", list_of(warnings)}};
  if (!plan.step) facts.set("flops", flops_facts(plan));
  return facts;
}

}  // namespace trainlab

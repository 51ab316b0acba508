#include "train/own_step.h"

#include <algorithm>
#include <limits>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/scalar_tensor.h>

#include "core/argument_table.h"
#include "core/function_error.h"
#include "core/trace.h"
#include "data/batch_object.h"
#include "tensor/device.h"
#include "tensor/named_tensors.h"
#include "tensor/tensor_object.h"
#include "tensor/text.h"

namespace trainlab {

namespace {

// The prefix of a tensor's name: "model.2.weight" for a single model, "model.g.2.weight" for the model named g.
std::string prefix(const char* kind, const std::string& name) {
  return std::string(kind) + "." + (name.empty() ? "" : name + ".");
}

template <class Objects>
void collect(NamedTensors& all, const char* kind, const Objects& objects) {
  for (const auto& [name, object] : objects) add_below(all, prefix(kind, name), object->checkpoint());
}

template <class Objects>
void give_back(const NamedTensors& tensors, const char* kind, const Objects& objects) {
  for (const auto& [name, object] : objects) object->restore(tensors_below(tensors, prefix(kind, name)));
}

at::Tensor scalar_of(const Argument& argument) {
  if (const auto* value = std::get_if<Value>(&argument); value && value->is_number()) {
    return at::scalar_tensor(value->number(), at::kDouble);
  }
  const TensorObject* const tensor = tensor_in(argument);
  if (!tensor || tensor->tensor.numel() != 1) return {};
  return tensor->tensor.detach().reshape({}).to(at::kDouble);
}

}  // namespace

OwnStep::OwnStep(const FitPlan& plan, Key key) : plan_(plan), key_(key) {
  for (const FitPlan::StepModel& spec : plan.step_models) {
    // The models of a fit have different keys, so that they do not begin with the same weights.
    const Key of_model = spec.name.empty() ? key : key.fold(spec.name);
    ModelState state = spec.model->initial_state({&of_model, 1}, plan.precision.weights, plan.device, false);
    const auto model = std::make_shared<ModelObject>(spec.model, std::move(state));
    models_.emplace(spec.name, model);
    model_objects_.emplace(spec.name, model);
    const auto optimizer = std::make_shared<OptimizerObject>(spec.optimizer, model->parameters());
    optimizer->clip = spec.clip;
    if (auto schedules = step_schedules_of(plan, spec, of_model)) {
      schedules_.emplace(spec.name, Scheduled{optimizer->rate, std::move(*schedules)});
    }
    optimizers_.emplace(spec.name, optimizer);
    optimizer_objects_.emplace(spec.name, optimizer);
  }
}

void OwnStep::step(std::span<const Batch> batches, std::int64_t step, const StepInputs&) {
  remember();
  const Batch& batch = batches.front();
  for (auto& [name, scheduled] : schedules_) {
    OptimizerObject& optimizer = *optimizers_.at(name);
    const Schedules& all = scheduled.schedules;
    optimizer.rate = scheduled.rate * all.lr->factor(step);
    if (all.momentum) optimizer.momentum = all.momentum->factor(step);
    if (all.weight_decay) optimizer.weight_decay = all.weight_decay->factor(step);
  }
  for (const auto& [name, model] : models_) model->training = true;
  plan_.step->rekey(key_.fold("step").fold(static_cast<std::uint64_t>(step)));
  Batch moved = batch;
  device_at(plan_.device).take(moved.columns);
  const std::vector<Argument> arguments{run_.lock(), batch_object(*plan_.data.train.data, std::move(moved))};
  const std::vector<Argument> results = [&] {
    const Span span(Phase::callback, "own step");
    return plan_.step->call(arguments);
  }();
  ++steps_;
  has_moved_ = has_moved_ || writes() != before_.writes;
  if (!results.empty()) measure(results.front(), batch.size);
  before_.statistics.clear();
}

void OwnStep::remember() {
  before_ = {.writes = writes(), .optimizers = {}, .statistics = {}};
  for (const auto& [name, optimizer] : optimizers_) before_.optimizers.emplace(name, optimizer->uses());
  const at::NoGradGuard no_gradients;
  for (const auto& [name, model] : models_) {
    for (const at::Tensor& buffer : model->state().buffers) before_.statistics.emplace_back(buffer, buffer.clone());
  }
}

std::uint64_t OwnStep::writes() const {
  std::uint64_t all = 0;
  for (const auto& [name, model] : models_) all += model->writes();
  return all;
}

bool OwnStep::take_back_step() {
  if (writes() != before_.writes) return false;
  for (const auto& [name, optimizer] : optimizers_) {
    const OptimizerObject::Uses now = optimizer->uses();
    const OptimizerObject::Uses& before = before_.optimizers.at(name);
    if (now.steps != before.steps) return false;
    // Gradients that the step was to add to cannot be had back, and gradients that the step has deleted are not needed.
    const bool is_added_to = now.gradients != before.gradients && now.deletions == before.deletions;
    if (is_added_to && before.gradients > 0) return false;
    if (is_added_to) optimizer->zero_grad();
  }
  const at::NoGradGuard no_gradients;
  for (auto& [buffer, copy] : before_.statistics) buffer.copy_(copy);
  return true;
}

std::int64_t OwnStep::steps_on_used_gradients() const {
  std::int64_t most = 0;
  for (const auto& [name, optimizer] : optimizers_) most = std::max(most, optimizer->steps_on_used_gradients());
  return most;
}

void OwnStep::begin_evaluation() {
  for (const auto& [name, model] : models_) model->training = false;
}

void OwnStep::measure(const Argument& result, std::int64_t samples) {
  std::map<std::string, Argument> values;
  const auto* value = std::get_if<Value>(&result);
  const auto* object = std::get_if<std::shared_ptr<Object>>(&result);
  const auto* table = object ? dynamic_cast<const ArgumentTable*>(object->get()) : nullptr;
  if (value && value->is_map()) {
    for (const auto& [name, one] : value->map()) values.emplace(name, one);
  } else if (table && table->list.empty()) {
    values = table->named;
  } else if (!value || !value->is_nil()) {
    throw function_error(*plan_.step, "expected step(run, batch) to return a table such as { loss = loss }, found " +
                                          found_text(result));
  }
  std::vector<std::pair<std::string, at::Tensor>> scalars;
  for (const auto& [name, one] : values) {
    scalars.emplace_back("train." + name, scalar_of(one));
    if (!scalars.back().second.defined()) {
      throw function_error(*plan_.step, "step(run, batch): expected a number or a tensor of one element as " + name +
                                            ", found " + found_text(one));
    }
  }
  for (const auto& [name, scalar] : scalars)
    meters_.try_emplace(name, 0).first->second.add(LossValue{{.value = scalar, .weight = {}}}, samples);
}

const ModelState& OwnStep::state() const {
  if (models_.size() != 1) throw std::logic_error("OwnStep: no single model to validate");
  return models_.begin()->second->state();
}

std::optional<double> OwnStep::rate() const {
  return optimizers_.size() == 1 ? optimizers_.begin()->second->rate : std::numeric_limits<double>::quiet_NaN();
}

MetricMap OwnStep::metrics(std::size_t) {
  MetricMap all;
  for (auto& [name, meter] : meters_) all[name] = meter.mean(0);
  return all;
}

bool OwnStep::finite(std::size_t) {
  return std::all_of(meters_.begin(), meters_.end(), [](auto& meter) { return meter.second.finite(0); });
}

void OwnStep::set_total(std::int64_t total_steps) {
  for (auto& [name, scheduled] : schedules_) scheduled.schedules.set_total(total_steps);
}

void OwnStep::validated(double value, bool minimize) {
  for (auto& [name, scheduled] : schedules_) scheduled.schedules.validated(value, minimize);
}

Value OwnStep::progress(std::size_t) {
  Value::Map meters, schedules;
  for (auto& [name, meter] : meters_) meters[name] = meter.state(0);
  for (const auto& [name, scheduled] : schedules_) schedules["optim." + name] = scheduled.schedules.state();
  return Value::Map{{"meters", std::move(meters)}, {"schedules", std::move(schedules)}};
}

void OwnStep::restore_progress(std::size_t, const Value& state) {
  meters_.clear();
  for (const auto& [name, meter] : state["meters"].map()) meters_.try_emplace(name, 0).first->second.restore(0, meter);
  for (auto& [name, scheduled] : schedules_) scheduled.schedules.restore(state["schedules"]["optim." + name]);
}

NamedTensors OwnStep::tensors(std::size_t) {
  NamedTensors all;
  collect(all, "model", models_);
  collect(all, "optim", optimizers_);
  return all;
}

void OwnStep::restore(std::size_t member, const NamedTensors& tensors) {
  load_weights(member, tensors);
  give_back(tensors, "optim", optimizers_);
  has_moved_ = true;
}

NamedTensors OwnStep::weights(std::size_t) const {
  NamedTensors all;
  for (const auto& [name, model] : models_) {
    for (const auto& [own, tensor] : model->tensors()) all.emplace(prefix("model", name) + own, tensor.clone());
  }
  return all;
}

void OwnStep::load_weights(std::size_t, const NamedTensors& tensors) { give_back(tensors, "model", models_); }

}  // namespace trainlab

#include "train/group.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/InferenceMode.h>

#include <cmath>
#include <limits>

#include "optim/clip.h"

namespace trainlab {
namespace {

// One element of a 0-dim or [M] tensor on the CPU.
double element(const at::Tensor& tensor, std::size_t i) {
  return tensor.scalar_type() == at::kDouble ? tensor.const_data_ptr<double>()[i]
                                             : static_cast<double>(tensor.const_data_ptr<float>()[i]);
}

// Optimizer state is per member where its tensors carry the member axis, and shared (step counts) where they do not.
at::Tensor member_slice(const at::Tensor& tensor, std::int64_t members, std::size_t member) {
  const bool sliced = members > 0 && tensor.dim() > 0 && tensor.size(0) == members;
  return sliced ? tensor.select(0, static_cast<std::int64_t>(member)) : tensor;
}

const at::Tensor& stored(const NamedTensors& tensors, const std::string& name, at::IntArrayRef shape) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) throw recipe_error("the checkpoint has no tensor " + name);
  if (found->second.sizes() != shape) {
    throw recipe_error("the checkpoint's " + name + " has shape " + shape_text(found->second.sizes()) +
                       ", the model needs " + shape_text(shape));
  }
  return found->second;
}

}  // namespace

// ---------------------------------------------------------------------------------------------------------- LossMeter

void LossMeter::add(const LossValue& loss, std::int64_t samples) {
  if (loss.value.is_cpu()) {
    for (std::size_t m = 0; m < sums_.size(); ++m) {
      const double weight = loss.weight.defined() ? element(loss.weight, m) : static_cast<double>(samples);
      sums_[m] += element(loss.value, m) * weight;
      weights_[m] += weight;
    }
    return;
  }
  const auto value = loss.value.detach().to(at::kDouble).reshape({-1});
  const auto weight = loss.weight.defined() ? loss.weight.detach().to(at::kDouble).reshape({-1})
                                            : at::full_like(value, static_cast<double>(samples));
  if (!device_sums_.defined()) {
    device_sums_ = at::zeros_like(value);
    device_weights_ = at::zeros_like(value);
  }
  device_sums_.addcmul_(value, weight);
  device_weights_.add_(weight);
}

void LossMeter::fetch() {
  if (!device_sums_.defined()) return;
  const auto sums = device_sums_.cpu(), weights = device_weights_.cpu();
  for (std::size_t m = 0; m < sums_.size(); ++m) {
    sums_[m] += element(sums, m);
    weights_[m] += element(weights, m);
  }
  device_sums_.reset();
  device_weights_.reset();
}

double LossMeter::mean(std::size_t member) {
  fetch();
  if (weights_[member] == 0 && sums_[member] == 0) return std::numeric_limits<double>::quiet_NaN();
  return sums_[member] / weights_[member];
}

bool LossMeter::finite(std::size_t member) {
  fetch();
  return std::isfinite(sums_[member]);
}

void LossMeter::reset() {
  std::fill(sums_.begin(), sums_.end(), 0.0);
  std::fill(weights_.begin(), weights_.end(), 0.0);
  device_sums_.reset();
  device_weights_.reset();
}

Value LossMeter::state() {
  fetch();
  Value::List sums, weights;
  for (const double x : sums_) sums.emplace_back(x);
  for (const double x : weights_) weights.emplace_back(x);
  Value state;
  state.set("sums", std::move(sums));
  state.set("weights", std::move(weights));
  return state;
}

void LossMeter::restore(const Value& state) {
  reset();
  for (std::size_t m = 0; m < sums_.size(); ++m) {
    sums_[m] = state["sums"].list().at(m).number();
    weights_[m] = state["weights"].list().at(m).number();
  }
}

// ---------------------------------------------------------------------------------------------------------- Evaluator

namespace {

// Evaluation holds no gradients, so its batches may be larger than training's.
constexpr std::int64_t evaluation_batch = 256;

LoaderOptions evaluation_loader(const FitPlan& plan) {
  LoaderOptions options = plan.loader;
  options.batch = std::max(options.batch, evaluation_batch);
  options.shuffle = false;
  options.drop_last = false;
  return options;
}

std::size_t key_count(std::int64_t members) { return static_cast<std::size_t>(members ? members : 1); }

}  // namespace

Evaluator::Evaluator(const FitPlan& plan, const Part& part, std::string prefix, std::int64_t members)
    : plan_(plan),
      prefix_(std::move(prefix)),
      members_(members),
      loader_(part, evaluation_loader(plan), std::vector<Key>(key_count(members), Key(0)), members > 0),
      meter_(members) {
  for (const PlannedMetric& metric : plan.metrics) {
    metrics_.push_back(metric.kind->make(metric.options, plan.head, members));
  }
}

std::vector<MetricMap> Evaluator::run(const ModelState& state) {
  const c10::InferenceMode no_gradients;
  meter_.reset();
  for (const auto& metric : metrics_) metric->reset();
  const Pass pass{.state = state, .training = false, .keys = {}};
  // The loader runs on for ever and in order: each evaluation takes one epoch of it, and what was prefetched beyond
  // is the beginning of the next evaluation.
  for (std::int64_t i = loader_.batches_per_epoch(); i > 0; --i) {
    const Batch batch = loader_.next();
    const auto x = batch.columns[plan_.x].to(plan_.device), y = batch.columns[plan_.y].to(plan_.device);
    const auto out = plan_.model->forward(x, pass);
    meter_.add((*plan_.loss)(out, y, members_), batch.size);
    for (const auto& metric : metrics_) metric->update(out, y);
  }
  std::vector<MetricMap> results(key_count(members_));
  for (std::size_t m = 0; m < results.size(); ++m) results[m][prefix_ + ".loss"] = meter_.mean(m);
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    const std::vector<double> values = metrics_[i]->compute();
    for (std::size_t m = 0; m < results.size(); ++m) results[m][prefix_ + "." + plan_.metrics[i].name] = values[m];
  }
  return results;
}

// -------------------------------------------------------------------------------------------------------------- Group

Group::Group(const FitPlan& plan, std::span<const Key> keys, std::span<const Options> optimizers, bool axis)
    : plan_(plan),
      keys_(keys.begin(), keys.end()),
      state_(plan.model->initial_state(keys, plan.type, plan.device, axis)),
      train_loss_(axis ? static_cast<std::int64_t>(keys.size()) : 0) {
  std::vector<OptimizedParameter> parameters;
  for (std::size_t i = 0; i < state_.parameters.size(); ++i) {
    const ParameterInfo& info = plan.model->parameters()[i];
    parameters.push_back({.name = info.name, .value = state_.parameters[i], .decays = info.decays});
  }
  optimizer_ = make_optimizer(optimizers, std::move(parameters), state_.members);
  gradients_.resize(state_.parameters.size());
}

void Group::step(const Batch& batch, std::int64_t step, std::span<const double> rates,
                 std::span<const std::uint8_t> active) {
  pass_keys_.clear();
  for (const Key& key : keys_) pass_keys_.push_back(key.fold("dropout").fold(static_cast<std::uint64_t>(step)));

  const Pass pass{.state = state_, .training = true, .keys = pass_keys_};
  const auto& x = batch.columns[plan_.x];
  const auto& y = batch.columns[plan_.y];
  const bool move = plan_.device != at::kCPU;
  const auto out = plan_.model->forward(move ? x.to(plan_.device) : x, pass);
  const LossValue loss = (*plan_.loss)(out, move ? y.to(plan_.device) : y, state_.members);
  // Members do not meet anywhere but in this sum, so each gets the gradient of its own mean.
  with_torch_errors([&] { (axis() ? loss.value.sum() : loss.value).backward(); });
  train_loss_.add(loss, batch.size);

  for (std::size_t i = 0; i < gradients_.size(); ++i) {
    // Moved out, so that the next backward pass stores its gradient instead of adding to this one.
    gradients_[i] = std::move(state_.parameters[i].mutable_grad());
    state_.parameters[i].mutable_grad().reset();
  }
  const at::NoGradGuard no_gradients;
  if (plan_.clip > 0) clip_by_norm(gradients_, plan_.clip, state_.members);
  optimizer_->step(gradients_, rates, active);
  for (auto& gradient : gradients_) gradient.reset();
}

NamedTensors Group::tensors(std::size_t member) {
  NamedTensors all;
  for (auto& [name, tensor] : named_state(*plan_.model, state_, slice(member))) all.emplace(name, tensor);
  for (auto& [name, tensor] : optimizer_->state()) {
    all.emplace("optim." + name, member_slice(tensor, state_.members, member));
  }
  return all;
}

void Group::restore(std::size_t member, const NamedTensors& tensors) {
  load_weights(member, tensors);
  const at::NoGradGuard no_gradients;
  for (auto& [name, tensor] : optimizer_->state()) {
    const at::Tensor target = member_slice(tensor, state_.members, member);
    target.copy_(stored(tensors, "optim." + name, target.sizes()));
  }
}

void Group::load_weights(std::size_t member, const NamedTensors& tensors) {
  load_named_state(*plan_.model, state_, tensors, slice(member));
}

NamedTensors Group::weights(std::size_t member) const {
  NamedTensors copies;
  for (auto& [name, tensor] : named_state(*plan_.model, state_, slice(member))) copies.emplace(name, tensor.clone());
  return copies;
}

}  // namespace trainlab

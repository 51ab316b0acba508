#include "objects/model_object.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/scalar_tensor.h>

#include <algorithm>

#include "core/trace.h"

namespace trainlab {
namespace {

// LibTorch counts the writes to each tensor.
std::uint64_t writes_to(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->version_counter().current_version();
}

// Copies each target's value from `from`; nothing is copied when one does not fit.
void copy_back(const NamedTensors& targets, const NamedTensors& from) {
  for (const auto& [name, target] : targets) {
    const auto found = from.find(name);
    if (found == from.end()) throw recipe_error("there is no tensor " + name + " to restore");
    if (found->second.sizes() != target.sizes()) {
      throw recipe_error("expected " + name + " of shape " + shape_text(target.sizes()) + ", found " +
                         shape_text(found->second.sizes()));
    }
  }
  const at::NoGradGuard no_gradients;
  for (const auto& [name, target] : targets) target.copy_(from.at(name));
}

}  // namespace

// ------------------------------------------------------------------------------------------------------- ModelObject

at::Tensor ModelObject::forward(std::span<const at::Tensor> columns, Key key) const {
  return model_->forward(columns, Pass{.state = state_, .training = training, .keys = {&key, 1}});
}

std::vector<OptimizedParameter> ModelObject::parameters() const {
  std::vector<OptimizedParameter> all;
  for (std::size_t i = 0; i < state_.parameters.size(); ++i) {
    const ParameterInfo& info = model_->parameters()[i];
    if (!info.trains) continue;
    all.push_back({.name = info.name, .value = state_.parameters[i], .decays = info.decays});
  }
  return all;
}

std::uint64_t ModelObject::writes() const {
  std::uint64_t all = 0;
  for (const at::Tensor& parameter : state_.parameters) all += writes_to(parameter);
  return all;
}

NamedTensors ModelObject::tensors() const {
  NamedTensors all;
  for (std::size_t i = 0; i < state_.parameters.size(); ++i) {
    at::Tensor value = state_.parameters[i].detach();
    if (const at::Tensor& gradient = state_.parameters[i].mutable_grad(); gradient.defined())
      value.mutable_grad() = gradient;
    all.emplace(model_->parameters()[i].name, std::move(value));
  }
  for (std::size_t i = 0; i < state_.buffers.size(); ++i) all.emplace(model_->buffers()[i].name, state_.buffers[i]);
  return all;
}

NamedTensors ModelObject::checkpoint() const {
  NamedTensors all = tensors();
  for (const OptimizedParameter& parameter : parameters()) {
    const at::Tensor& gradient = parameter.value.grad();
    if (gradient.defined()) all.emplace("@grad." + parameter.name, gradient);
  }
  all.emplace("@training", at::scalar_tensor(training, at::kBool));
  return all;
}

void ModelObject::restore(const NamedTensors& from) {
  copy_back(tensors(), from);
  const auto found = from.find("@training");
  if (found == from.end()) return;
  training = found->second.item<bool>();
  for (OptimizedParameter& parameter : parameters()) {
    parameter.value.mutable_grad().reset();
    const auto gradient = from.find("@grad." + parameter.name);
    if (gradient != from.end())
      parameter.value.mutable_grad() = at::empty_like(parameter.value).copy_(gradient->second);
  }
}

std::shared_ptr<ModelObject> build_model(const Options& spec, Signals columns, std::int64_t seed, at::ScalarType type,
                                         at::Device device, const LayerPrecision& precision) {
  auto model = std::make_shared<const Model>(spec, std::move(columns), precision);
  const Key key(static_cast<std::uint64_t>(seed));
  ModelState state = model->initial_state({&key, 1}, type, device, false);
  return std::make_shared<ModelObject>(std::move(model), std::move(state));
}

// --------------------------------------------------------------------------------------------------- OptimizerObject

OptimizerObject::OptimizerObject(const Options& spec, std::vector<OptimizedParameter> parameters)
    : rate(learning_rate(spec)), name_(spec.entry().name), parameters_(std::move(parameters)) {
  if (parameters_.empty()) throw recipe_error("expected parameters to optimize, found none");
  if (keeps_average(spec)) {
    throw recipe_error(name_ +
                       " keeps averaged weights beside the trained ones, and a loop of the recipe's own has "
                       "only the trained ones")
        .hint("it works in lab.fit");
  }
  for (const OptimizedParameter& parameter : parameters_) {
    if (!parameter.value.is_leaf() || !parameter.value.requires_grad()) {
      throw recipe_error("expected tensors that require grad, found " + parameter.name + ", which does not")
          .hint("t:requires_grad(true)");
    }
  }
  optimizer_ = make_optimizer({&spec, 1}, parameters_, 0);
}

void OptimizerObject::zero_grad() {
  for (OptimizedParameter& parameter : parameters_) parameter.value.mutable_grad().reset();
  ++deletions_;
  used_gradients_ = 0;
}

// A backward pass adds to a gradient that is there by a write.
OptimizerObject::Uses OptimizerObject::uses() const {
  Uses all{.steps = steps_, .deletions = deletions_};
  for (const OptimizedParameter& parameter : parameters_) {
    const at::Tensor& gradient = parameter.value.grad();
    if (gradient.defined()) all.gradients += 1 + writes_to(gradient);
  }
  return all;
}

void OptimizerObject::step(const std::function<at::Tensor()>& again) {
  if (optimizer_->evaluates_again() && !again) {
    throw recipe_error(name_ + " evaluates the loss more than once in a step").hint(how_to_evaluate);
  }
  std::vector<at::Tensor> gradients(parameters_.size());
  const auto take = [&] {
    const Span span(Phase::gradients);
    for (std::size_t i = 0; i < parameters_.size(); ++i) gradients[i] = parameters_[i].value.grad();
    if (clip.value > 0) clip_by_value(gradients, clip.value);
    if (clip.norm > 0) clip_by_norm(gradients, clip.norm, 0);
    if (!maximizes) return;
    for (at::Tensor& gradient : gradients)
      if (gradient.defined()) gradient = gradient.neg();  // a copy: the parameter's own gradient keeps its sign
  };
  const auto loss_again = [&] {
    const at::Tensor loss = again().detach();
    return maximizes ? loss.neg() : loss;
  };
  StepInputs inputs{.rates = {&rate, 1}, .momentum = {&momentum, 1}, .weight_decay = {&weight_decay, 1}};
  if (again) inputs.loss = loss_again();
  take();
  if (again && std::ranges::none_of(gradients, &at::Tensor::defined)) {
    throw recipe_error("the function that evaluates the loss has left no gradients").hint(how_to_evaluate);
  }
  const Reevaluate reevaluate = [&] {
    const at::AutoGradMode gradients_wanted(true);  // a step has switched them off
    at::Tensor loss = loss_again();
    take();
    return Evaluation{std::move(loss), gradients};
  };
  if (again) inputs.reevaluate = &reevaluate;
  if (used_gradients_ > 0 && uses().gradients > used_gradients_) ++steps_on_used_gradients_;
  ++steps_;
  const Span span(Phase::optimizer);
  optimizer_->step(gradients, inputs);
  used_gradients_ = uses().gradients;
}

NamedTensors OptimizerObject::tensors() const {
  NamedTensors all;
  for (auto& [name, tensor, per_member] : optimizer_->state()) all.emplace(name, tensor);
  all.emplace("lr", at::scalar_tensor(rate, at::kDouble));
  return all;
}

void OptimizerObject::restore(const NamedTensors& from) {
  copy_back(tensors(), from);
  rate = from.at("lr").item<double>();
}

}  // namespace trainlab

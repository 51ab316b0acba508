#include "parameters.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <stdexcept>

#include "tensor/types.h"

namespace trainlab {

at::Tensor OptimizerSlot::slice(const at::Tensor& tensor, std::int64_t member) {
  return member < 0 ? tensor : tensor.select(0, member);
}

ParameterSet::ParameterSet(std::vector<OptimizedParameter> parameters, std::int64_t members) : members_(members) {
  if (!parameters.empty()) device_ = parameters.front().value.device();
  for (OptimizedParameter& parameter : parameters) {
    const at::Tensor& value = parameter.value;
    if (value.scalar_type() != at::kFloat && value.scalar_type() != at::kDouble && !is_rounded(parameter))
      throw recipe_error("optimizers take float32 and float64 parameters; '" + parameter.name + "' is " +
                         dtype_name(value.scalar_type()));
    if (!value.is_contiguous())
      throw recipe_error("optimizers take contiguous parameters; '" + parameter.name + "' of shape " +
                         shape_text(value.sizes()) + " is a view with other strides")
          .hint("make it contiguous first: t:contiguous()");
    if (value.device() != device_)
      throw recipe_error("one optimizer takes parameters of one device; '" + parameter.name + "' is on " +
                         value.device().str() + ", the first on " + device_.str());
    if (members_ > 0 && (value.dim() == 0 || value.size(0) != members_))
      throw std::logic_error("optimizer: '" + parameter.name + "' has no leading axis of " + std::to_string(members_) +
                             " members");
    slots_.push_back({.parameter = std::move(parameter), .state = {}, .suffixes = {}});
  }
}

void ParameterSet::add_state(const std::string& suffix) {
  at::NoGradGuard no_grad;
  for (OptimizerSlot& slot : slots_) {
    slot.state.push_back(at::zeros_like(slot.parameter.value));
    slot.suffixes.push_back(suffix);
  }
}

void ParameterSet::add_state(std::size_t i, std::string suffix, std::vector<std::int64_t> shape, at::ScalarType type) {
  if (members_) shape.insert(shape.begin(), members_);
  slots_[i].state.push_back(at::zeros(shape, at::device(device_).dtype(type)));
  slots_[i].suffixes.push_back(std::move(suffix));
}

void ParameterSet::add_steps(at::Device device) {
  const auto n = static_cast<std::int64_t>(slots_.size());
  const auto options = at::TensorOptions().dtype(at::kFloat).device(device);
  steps_ = members_ ? at::zeros({members_, n}, options) : at::zeros({n}, options);
  const at::Tensor flat = steps_.view({-1});
  for (std::int64_t i = 0; i < flat.numel(); ++i) step_views_.push_back(flat.select(0, i));
}

void ParameterSet::add_scalars(std::string name) {
  const auto n = static_cast<std::int64_t>(slots_.size());
  const auto options = at::TensorOptions().dtype(at::kDouble);
  scalars_.emplace_back(std::move(name), members_ ? at::zeros({members_, n}, options) : at::zeros({n}, options));
}

void ParameterSet::check_step(std::span<const at::Tensor> gradients, const StepInputs& inputs) const {
  const auto rows = static_cast<std::size_t>(this->rows());
  const auto fits = [rows](std::size_t size) { return size == 0 || size == rows; };
  if (gradients.size() != slots_.size() || inputs.rates.size() != rows || !fits(inputs.active.size()) ||
      !fits(inputs.momentum.size()) || !fits(inputs.weight_decay.size()))
    throw std::logic_error("optimizer: a step of " + std::to_string(slots_.size()) + " parameters and " +
                           std::to_string(rows) + " rates got " + std::to_string(gradients.size()) + " gradients, " +
                           std::to_string(inputs.rates.size()) + " rates and " + std::to_string(inputs.active.size()) +
                           " activity flags");
}

at::Tensor ParameterSet::gradient(std::span<const at::Tensor> gradients, std::size_t i) const {
  const at::Tensor& gradient = gradients[i];
  const OptimizedParameter& parameter = slots_[i].parameter;
  if (gradient.scalar_type() != parameter.value.scalar_type() || gradient.sizes() != parameter.value.sizes())
    throw recipe_error("expected a gradient " + dtype_name(parameter.value.scalar_type()) + " " +
                       shape_text(parameter.value.sizes()) + " for '" + parameter.name + "', found " +
                       dtype_name(gradient.scalar_type()) + " " + shape_text(gradient.sizes()));
  if (!parameter.value.is_contiguous())
    throw recipe_error("the parameter '" + parameter.name +
                       "' was contiguous when the optimizer was made, and is a view "
                       "of shape " +
                       shape_text(parameter.value.sizes()) + " with other strides now")
        .hint("t_, transpose_ and the like turn a tensor itself; t:t() gives a view and leaves the tensor as it is");
  // The fused operators read gradients through bare pointers and do not look at strides.
  return gradient.contiguous();
}

std::vector<OptimizerTensor> ParameterSet::state() {
  const bool per_member = members_ > 0;
  std::vector<OptimizerTensor> named;
  for (OptimizerSlot& slot : slots_)
    for (std::size_t s = 0; s < slot.state.size(); ++s)
      named.push_back({slot.parameter.name + "." + slot.suffixes[s], slot.state[s], per_member});
  if (steps_.defined()) named.push_back({"step", steps_, per_member});
  for (const auto& [name, scalars] : scalars_) named.push_back({name, scalars, per_member});
  return named;
}

void FusedLists::clear(std::size_t states) {
  values.clear();
  gradients.clear();
  steps.clear();
  state.resize(states);
  for (auto& list : state) list.clear();
}

void FusedLists::add(ParameterSet& set, std::span<const at::Tensor> all_gradients, std::int64_t row, std::size_t i,
                     bool with_steps) {
  const std::int64_t member = set.members() ? row : -1;
  OptimizerSlot& slot = set[i];
  set.changed(i);
  values.push_back(OptimizerSlot::slice(slot.parameter.value, member));
  gradients.push_back(OptimizerSlot::slice(set.gradient(all_gradients, i), member));
  for (std::size_t s = 0; s < state.size(); ++s) state[s].push_back(OptimizerSlot::slice(slot.state[s], member));
  if (with_steps) steps.push_back(set.step_view(row, i));
}

}  // namespace trainlab

// The state of a group between two steps: checkpoints, averages, weights, and the views that a recipe's functions get.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>

#include "loss_scaler.h"
#include "member_slice.h"
#include "model/offload.h"
#include "tensor/memory.h"
#include "train/group.h"

namespace trainlab {
namespace {

constexpr const char* loss_scale = "loss_scale";

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

bool Group::averaged(std::size_t member) const {
  if (is_final_[member]) return false;
  return has_own_average_ || (average_ && average_->evaluated(member) && average_->updates(member) > 0);
}

std::optional<std::int64_t> Group::average_updates(std::size_t member) const {
  return average_ && average_->evaluated(member) ? std::optional(average_->updates(member)) : std::nullopt;
}

void Group::take_own_average(std::size_t member, const std::function<at::Tensor(std::size_t parameter)>& to) const {
  std::vector<at::Tensor> targets;
  for (std::size_t i = 0; i < state_.parameters.size(); ++i)
    if (plan_.model->parameters()[i].trains) targets.push_back(to(i));
  optimizer_->averaged_weights(static_cast<std::int64_t>(member), targets);
}

const ModelState& Group::state() const {
  if (!average_ && !has_own_average_) return state_;
  const at::NoGradGuard no_gradients;
  if (validated_.parameters.empty()) {
    const MemoryCharge charge(MemoryUse::averages);
    validated_ = state_.snapshot();
  }
  const auto fill = [&](const std::vector<at::Tensor>& to, const std::vector<at::Tensor>& live, std::size_t first) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      for (std::size_t m = 0; m < keys_.size(); ++m) {
        const at::Tensor& from = average_ && averaged(m) ? average_->values()[first + i] : live[i];
        member_slice(to[i], axis(), m).copy_(member_slice(from, axis(), m));
      }
    }
  };
  fill(validated_.parameters, state_.parameters, 0);
  fill(validated_.buffers, state_.buffers, state_.parameters.size());
  for (std::size_t m = 0; has_own_average_ && m < keys_.size(); ++m) {
    if (averaged(m))
      take_own_average(m, [&](std::size_t i) { return member_slice(validated_.parameters[i].detach(), axis(), m); });
  }
  return validated_;
}

std::vector<OptimizerTensor> Group::stored_state() {
  std::vector<OptimizerTensor> all = optimizer_->state();
  for (OptimizerTensor& one : all) one.name = "optim." + one.name;
  if (scaler_) all.push_back({loss_scale, scaler_->state(), axis()});
  if (!average_) return all;
  for (auto& [name, tensor] : average_->state()) all.push_back({"ema." + name, tensor, axis()});
  return all;
}

NamedTensors Group::tensors(std::size_t member) {
  if (activations_) activations_->check();  // no checkpoint holds what was computed from a page that the disk has lost
  NamedTensors all;
  for (auto& [name, tensor] : named_state(*plan_.model, state_, slice(member))) all.emplace(name, tensor);
  for (auto& [name, tensor, per_member] : stored_state()) all.emplace(name, member_slice(tensor, per_member, member));
  if (!has_own_average_ || !averaged(member)) return all;
  // For readers of a checkpoint's weights; restore() does not need these tensors.
  take_own_average(member, [&](std::size_t i) {
    const at::Tensor copy = at::empty_like(member_slice(state_.parameters[i].detach(), axis(), member));
    return all.emplace("ema." + plan_.model->parameters()[i].name, copy).first->second;
  });
  return all;
}

void Group::restore(std::size_t member, const NamedTensors& tensors) {
  load_named_state(*plan_.model, state_, tensors, slice(member));
  const at::NoGradGuard no_gradients;
  for (auto& [name, tensor, per_member] : stored_state()) {
    if (name == loss_scale && !tensors.contains(name)) continue;  // the checkpoint is of a fit that was not in float16
    const at::Tensor target = member_slice(tensor, per_member, member);
    target.copy_(stored(tensors, name, target.sizes()));
  }
}

void Group::take_optimizer(const NamedTensors& state) {
  const at::NoGradGuard no_gradients;
  for (const auto& [name, tensor, per_member] : optimizer_->state()) {
    const bool is_sliced = per_member && axis();
    for (std::size_t m = 0; m < (is_sliced ? keys_.size() : 1); ++m) {
      const at::Tensor target = member_slice(tensor, is_sliced, m);
      target.copy_(stored(state, name, target.sizes()));
    }
  }
}

void Group::load_weights(std::size_t member, const NamedTensors& tensors) {
  load_named_state(*plan_.model, state_, tensors, slice(member));
  is_final_[member] = 1;
  drop_gradients();  // gradients of the former weights
}

ModelState Group::view_of_member(std::size_t member) const {
  if (!axis()) return state_;
  ModelState view;
  for (const at::Tensor& parameter : state_.parameters) {
    at::Tensor own = parameter.detach().select(0, static_cast<std::int64_t>(member));
    if (const at::Tensor& gradient = parameter.grad(); gradient.defined())
      own.mutable_grad() = member_slice(gradient, true, member);
    view.parameters.push_back(std::move(own));
  }
  for (const at::Tensor& buffer : state_.buffers) view.buffers.push_back(member_slice(buffer, true, member));
  return view;
}

RunHandle::Objects Group::models(std::size_t member) {
  std::shared_ptr<ModelObject>& view = views_[member];
  if (!view) {
    view = std::make_shared<ModelObject>(plan_.model, view_of_member(member));
    view->training = false;
  }
  return {{"", view}};
}

NamedTensors Group::weights(std::size_t member) const {
  NamedTensors copies;
  for (auto& [name, tensor] : named_state(*plan_.model, state_, slice(member))) copies.emplace(name, tensor.clone());
  if (!averaged(member)) return copies;
  if (has_own_average_) {
    take_own_average(member, [&](std::size_t i) { return copies.at("model." + plan_.model->parameters()[i].name); });
    return copies;
  }
  for (auto& [name, tensor] : average_->state()) {
    const auto found = copies.find("model." + name);
    if (found != copies.end()) found->second.copy_(member_slice(tensor, axis(), member));
  }
  return copies;
}

}  // namespace trainlab

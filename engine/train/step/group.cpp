#include "train/group.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full_like.h>

#include <algorithm>
#include <array>

#include "accumulation.h"
#include "batch_view.h"
#include "clip_passes.h"
#include "core/trace.h"
#include "fused_step.h"
#include "loss_scaler.h"
#include "member_slice.h"
#include "micro_batches.h"
#include "model/offload.h"
#include "optim/offloaded.h"
#include "tensor/device.h"
#include "tensor/memory.h"
#include "tensor/operator_errors.h"
#include "train/memory_prediction.h"

namespace trainlab {

Group::Group(const FitPlan& plan, std::span<const Key> keys, std::span<const Options> optimizers, bool axis,
             std::span<const Options> averages, DropRates drop_rates)
    : plan_(plan),
      keys_(keys.begin(), keys.end()),
      has_own_average_(keeps_average(optimizers.front())),
      drop_rates_(std::move(drop_rates)),
      state_(plan.model->initial_state(keys, plan.precision.weights, plan.device, axis)),
      micro_batch_{.samples = plan.micro_batch},
      is_final_(keys.size()),
      train_loss_(axis ? static_cast<std::int64_t>(keys.size()) : 0, plan.loss->parts()),
      passes_(plan.fuse_step ? std::vector<std::shared_ptr<GradientPass>>() : clip_passes(plan.clip)) {
  std::vector<OptimizedParameter> parameters;
  std::vector<AveragedTensor> tensors;
  for (std::size_t i = 0; i < state_.parameters.size(); ++i) {
    const ParameterInfo& info = plan.model->parameters()[i];
    tensors.push_back({.name = info.name, .value = state_.parameters[i].detach()});
    if (!info.trains) continue;
    trained_.push_back(state_.parameters[i]);
    parameters.push_back(
        {.name = info.name, .value = state_.parameters[i], .decays = info.decays, .rounding = plan.precision.rounding});
  }
  for (std::size_t i = 0; i < state_.buffers.size(); ++i) {
    tensors.push_back({.name = plan.model->buffers()[i].name,
                       .value = state_.buffers[i],
                       .averages = plan.model->buffers()[i].averages});
  }
  if (plan.precision.compute == at::kHalf) {
    scaler_ = std::make_shared<LossScaler>(state_.members, plan.device);
    passes_.insert(passes_.begin(), scaler_);
    may_skip_ = true;
  }
  optimizer_ = plan.offload_optimizer ? make_offloaded_optimizer(optimizers.front(), std::move(parameters), plan.folder)
                                      : make_optimizer(optimizers, std::move(parameters), state_.members);
  if (!averages.empty())
    average_ = std::make_unique<WeightAverage>(averages, plan.length, std::move(tensors), state_.members);
  gradients_.resize(trained_.size());
  if (plan.offload_activations)
    activations_ = std::make_unique<ActivationFile>(std::make_shared<ScratchFile>(plan.folder));
  if (plan.fuse_step) fused_ = std::make_unique<FusedStep>(trained_, *optimizer_, plan.clip.value);
}

Group::~Group() = default;

LossValue Group::forward(const Batch& batch, std::int64_t step, std::size_t micro_batch, std::size_t micro_batches,
                         bool is_first) {
  const auto keyed = [&](const Key& key, const char* purpose) {
    const Key own = key.fold(purpose).fold(static_cast<std::uint64_t>(step));
    return micro_batches == 1 ? own : own.fold(micro_batch);
  };
  pass_keys_.clear();
  for (const Key& key : keys_) pass_keys_.push_back(keyed(key, "dropout"));
  const Pass pass{.state = state_,
                  .training = true,
                  .keys = pass_keys_,
                  .drop_rates = drop_rates_.empty() ? nullptr : &drop_rates_,
                  .updates_statistics = is_first,
                  .recompute = plan_.recompute.empty() ? nullptr : &plan_.recompute,
                  .leaves_out_last = plan_.chunk_loss};
  std::vector<at::Tensor> moved;
  const BatchView view = view_of(plan_, batch, state_.members, keyed(keys_.front(), "loss"), run_, moved);
  std::optional<OffloadActivations> offload;
  if (activations_) {
    const std::array<std::span<const at::Tensor>, 3> stay = {state_.parameters, state_.buffers, batch.columns};
    offload.emplace(*activations_, stay);
  }
  const at::Tensor out = plan_.model->forward(model_inputs(plan_, view), pass);
  if (!plan_.chunk_loss) return loss_of(plan_, [&] { return (*plan_.loss)(out, view); });
  const Layer& layer = *plan_.model->chain().back();
  const Layer::Linear last = *layer.linear();
  const bool is_mixed = plan_.precision.is_mixed() && !layer.is_kept && !last.is_kept;
  return loss_of(plan_, [&] {
    return plan_.loss->of_linear(out, pass.parameter(last.weight),
                                 last.bias ? pass.parameter(*last.bias) : at::Tensor(),
                                 is_mixed ? plan_.precision.compute : at::ScalarType::Undefined, view);
  });
}

// The gradients are moved out of the parameters, so that the next backward pass does not add to them.
void Group::take_gradients() {
  for (std::size_t i = 0; i < gradients_.size(); ++i) {
    gradients_[i] = std::move(trained_[i].mutable_grad());
    trained_[i].mutable_grad().reset();
  }
}

void Group::leave_gradients() {
  for (std::size_t i = 0; i < gradients_.size(); ++i) trained_[i].mutable_grad() = std::move(gradients_[i]);
}

void Group::drop_gradients() {
  for (const at::Tensor& parameter : trained_) parameter.mutable_grad().reset();
  views_.clear();
}

namespace {

// The loss with weight 0 for the members whose loss is not finite.
LossValue only_finite(const LossValue& loss, std::int64_t samples) {
  const at::Tensor lost = loss.value.detach().isfinite().logical_not();
  if (lost.is_meta()) return loss;
  // A device that works by itself would have to be waited for.
  if (device_at(lost.device()).is_synchronous() && !lost.any().item<bool>()) return loss;
  const auto counted = [&](const LossMean& mean) {
    const at::Tensor value = mean.value.detach();
    const at::Tensor weight =
        mean.weight.defined() ? mean.weight.detach() : at::full_like(value, static_cast<double>(samples));
    return LossMean{.value = value.masked_fill(lost, 0), .weight = weight.masked_fill(lost, 0)};
  };
  LossValue all{counted(loss), {}};
  for (const LossMean& part : loss.parts) all.parts.push_back(counted(part));
  return all;
}

}  // namespace

// In float16 a forward pass may overflow, as gradients may. The step is then left out, and its loss does not count.
void Group::count_loss(const LossValue& loss, std::int64_t samples) {
  train_loss_.add(scaler_ ? only_finite(loss, samples) : loss, samples);
}

namespace {

LossValue detached(const LossValue& loss) {
  const auto alone = [](const LossMean& mean) {
    return LossMean{.value = mean.value.detach(), .weight = mean.weight.defined() ? mean.weight.detach() : mean.weight};
  };
  LossValue all{alone(loss), {}};
  for (const LossMean& part : loss.parts) all.parts.push_back(alone(part));
  return all;
}

}  // namespace

at::Tensor Group::differentiate(std::span<const Batch> batches, std::int64_t step, bool is_first) {
  if (batches.size() == 1) {
    const LossValue loss = forward(batches[0], step, 0, 1, is_first);
    // The members' losses are independent and meet in this sum alone, so each member gets the gradient of its own mean.
    {
      const Span span(Phase::backward);
      const at::Tensor scaled = scaler_ ? scaler_->scaled(loss.value) : loss.value;
      with_operator_errors([&] { (axis() ? scaled.sum() : scaled).backward(); });
    }
    if (is_first) count_loss(loss, batches[0].size);
    take_gradients();
    return loss.value.detach();
  }
  const std::vector<LossPart> parts = plan_.loss->parts();
  Accumulation all(trained_, parts, state_.members, scaler_.get());
  std::vector<LossValue> losses;  // added to the training loss once no micro-batch can raise any more
  for (std::size_t k = 0; k < batches.size(); ++k) {
    const LossValue loss = forward(batches[k], step, k, batches.size(), is_first);
    all.add(loss, batches[k].size);
    if (is_first) losses.push_back(detached(loss));
  }
  for (std::size_t k = 0; k < losses.size(); ++k) count_loss(losses[k], batches[k].size);
  return all.finish(gradients_);
}

void Group::shrink_micro_batch(std::int64_t samples) {
  if (micro_batch_.samples == 0 || samples < micro_batch_.samples) micro_batch_.samples = samples;
}

namespace {
constexpr std::int64_t proving_steps = 3;
}

at::Tensor Group::evaluate(std::span<const Batch> given, std::int64_t step, bool is_first) {
  // Each forward pass changes running statistics, which are restored if the step is taken again in smaller parts. Where
  // the process has no limit, the device's memory is the limit. The first steps then show whether it is enough, and a
  // later step is taken again only where there are no statistics.
  const bool keeps = tensor_memory_limit() > 0 || steps_here_ < proving_steps;
  const bool can_repeat = (keeps || !is_first || state_.buffers.empty()) && goes_in_parts(plan_);
  std::vector<at::Tensor> statistics;
  if (is_first && keeps) {
    const at::NoGradGuard no_gradients;
    for (const at::Tensor& buffer : state_.buffers) statistics.push_back(buffer.clone());
  }
  std::vector<Batch> parts;
  std::span<const Batch> batches;
  at::Tensor mean;
  while (true) {
    parts = micro_batches(given, micro_batch_.samples, axis());
    batches = parts.empty() ? given : parts;
    try {
      mean = differentiate(batches, step, is_first);
      break;
    } catch (const Error& error) {
      const std::int64_t largest = std::ranges::max(batches, {}, &Batch::size).size;
      if (!lacks_room(error) || largest == 1 || !can_repeat) throw;
      micro_batch_ = {.samples = (largest + 1) / 2, .because = error.headline()};
    }
    drop_gradients();
    const at::NoGradGuard no_gradients;
    for (std::size_t i = 0; i < statistics.size(); ++i) state_.buffers[i].copy_(statistics[i]);
  }
  ++steps_here_;
  const std::function<void()> repeat = [this, batches, step] {
    for (std::size_t k = 0; k < batches.size(); ++k) forward(batches[k], step, k, batches.size(), false);
  };
  apply_passes({.step = step,
                .members = state_.members,
                .loss = mean,
                .is_again = !is_first,
                .active = steps_,
                .places = places_,
                .weights = trained_,
                .repeat_forward = &repeat});
  return mean;
}

void Group::add_passes(std::span<const std::shared_ptr<GradientPass>> passes, std::vector<std::size_t> places) {
  if (fused_ && !passes.empty()) {
    throw plan_.options.child("memory").error(
        "fuse_step", "\"" + std::string(passes.front()->name()) + "\" looks at all gradients of a step together");
  }
  places_ = std::move(places);
  for (const auto& pass : passes) {
    const auto first = passes_.begin() + (scaler_ ? 1 : 0);
    passes_.insert(pass->comes_before_clip() ? first : passes_.end(), pass);
  }
  may_skip_ = may_skip_ || std::ranges::any_of(passes, [](const auto& pass) { return pass->may_skip(); });
  const bool all_take_lost_steps =
      std::ranges::all_of(passes_, [this](const auto& pass) { return pass == scaler_ || pass->takes_lost_steps(); });
  if (!scaler_) return;
  scaler_->leave_to_optimizer(!device_at(plan_.device).is_synchronous() && optimizer_->takes_found_inf() && !average_ &&
                              all_take_lost_steps);
}

namespace {

// The verdict of a gradient pass. An error that the pass raises names the pass.
Verdict verdict_of(GradientPass& pass, std::span<at::Tensor> gradients, const StepFacts& facts) {
  const auto placed = [&](Error error) { return error.in("gradient pass \"" + std::string(pass.name()) + "\""); };
  try {
    return pass.apply(gradients, facts);
  } catch (const Error& error) {
    throw placed(error);
  } catch (const c10::Error& error) {
    throw placed(torch_error(error));
  } catch (const std::exception& error) {
    throw placed(run_error(error.what()));
  }
}

}  // namespace

bool Group::any_steps() const { return std::ranges::find(steps_, 1) != steps_.end(); }

void Group::apply_passes(StepFacts facts) {
  const Span span(Phase::gradients);
  const at::NoGradGuard no_gradients;
  for (const auto& pass : passes_) {
    const Verdict verdict = verdict_of(*pass, gradients_, facts);
    if (pass == scaler_) facts.found_inf = scaler_->found_inf();
    if (verdict.skipped.empty()) continue;
    if (verdict.skipped.size() != steps_.size()) {
      throw run_error("gradient pass \"" + std::string(pass->name()) + "\": expected a verdict on " +
                      std::to_string(steps_.size()) + " rows, found one on " + std::to_string(verdict.skipped.size()));
    }
    for (std::size_t row = 0; row < steps_.size(); ++row) {
      if (verdict.skipped[row]) steps_[row] = 0;
    }
    if (!any_steps()) return;
  }
}

void Group::optimize(const StepInputs& inputs) {
  const Span span(Phase::optimizer);
  if (!may_skip_ || !optimizer_->evaluates_again()) return optimizer_->step(gradients_, inputs);
  const auto changing = [this] {
    std::vector<OptimizerTensor> all = optimizer_->state();
    for (const at::Tensor& parameter : trained_) all.push_back({.name = "", .tensor = parameter, .per_member = axis()});
    return all;
  };
  std::vector<at::Tensor> before;
  for (const OptimizerTensor& one : changing()) before.push_back(one.tensor.clone());
  optimizer_->step(gradients_, inputs);
  const std::vector<OptimizerTensor> live = changing();
  for (std::size_t row = 0; row < steps_.size(); ++row) {
    if (steps_[row] || !inputs.active[row]) continue;
    for (std::size_t i = 0; i < live.size(); ++i) {
      if (!live[i].per_member && axis()) continue;  // state shared with rows that have taken the step
      member_slice(live[i].tensor, live[i].per_member, row).copy_(member_slice(before[i], live[i].per_member, row));
    }
  }
}

void Group::step(std::span<const Batch> batches, std::int64_t step, const StepInputs& inputs) {
  drop_gradients();
  if (inputs.active.empty()) {
    steps_.assign(keys_.size(), 1);
  } else {
    steps_.assign(inputs.active.begin(), inputs.active.end());
  }
  // A forward pass changes the running statistics of all members; those of members that have ended are restored.
  std::vector<std::pair<at::Tensor, at::Tensor>> kept;
  for (const at::Tensor& buffer : state_.buffers) {
    for (std::size_t row = 0; row < steps_.size(); ++row) {
      if (steps_[row]) continue;
      const at::Tensor own = member_slice(buffer, axis(), row);
      kept.emplace_back(own, own.clone());
    }
  }
  has_changed_ = fused_ != nullptr || !state_.buffers.empty();
  StepInputs all = inputs;
  if (fused_) fused_->begin(inputs);
  all.loss = evaluate(batches, step, true);
  if (fused_) fused_->end();
  for (const auto& [own, before] : kept) own.copy_(before);
  const std::vector<std::uint8_t> begun = steps_;  // evaluations within the optimizer's step change steps_
  all.active = begun;
  const Reevaluate again = [&] {
    const at::AutoGradMode with_gradients(true);
    return Evaluation{.loss = evaluate(batches, step, false), .gradients = gradients_};
  };
  all.reevaluate = &again;
  if (scaler_) all.found_inf = scaler_->found_inf();
  has_changed_ = true;
  const at::NoGradGuard no_gradients;
  if (any_steps() && !fused_) optimize(all);
  leave_gradients();
  if (!average_ || !any_steps()) return;
  const Span span(Phase::average);
  average_->stepped(step, steps_);
}

Scaling Group::scaling(std::size_t member) const { return scaler_ ? scaler_->scaling(member) : Scaling(); }

std::optional<std::string> Group::failure(std::size_t member) const {
  return scaler_ ? scaler_->failure(member) : std::nullopt;
}

void Group::set_total(std::int64_t total_steps) {
  if (average_) average_->set_total(total_steps);
}

}  // namespace trainlab

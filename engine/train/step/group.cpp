#include "train/group.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/concat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full_like.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>

#include "accumulation.h"
#include "clip_passes.h"
#include "core/trace.h"
#include "fused_step.h"
#include "loss_scaler.h"
#include "tensor/device.h"
#include "tensor/memory.h"
#include "tensor/operator_errors.h"

namespace trainlab {
namespace {

// The slice of one member of a tensor with a member axis; the whole tensor without such an axis.
at::Tensor member_slice(const at::Tensor& tensor, bool per_member, std::size_t member) {
  return per_member ? tensor.select(0, static_cast<std::int64_t>(member)) : tensor;
}

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

// ---------------------------------------------------------------------------------------------------------- Evaluator

namespace {

// Evaluation holds no gradients, so its batches may be larger than training's: at most this many samples, as long as
// the memory that a training step would keep for them (more than evaluation needs) fits into this many bytes. The size
// is the same for a single model and for any number of members, whose results must not differ in bits.
constexpr std::int64_t evaluation_batch = 256;
constexpr double evaluation_bytes = 1 << 30;

LoaderOptions evaluation_loader(const FitPlan& plan) {
  double sample = plan.model ? plan.model->kept_bytes(plan.precision.compute) : 0;
  for (const FitPlan::StepModel& one : plan.step_models)
    if (!plan.model) sample += one.model->kept_bytes(plan.precision.compute);
  constexpr auto most = static_cast<double>(evaluation_batch);
  const double fitting = std::clamp(evaluation_bytes / std::max(sample, 1.0), 1.0, most);
  LoaderOptions options = plan.loader;
  options.batch = std::max(options.batch, static_cast<std::int64_t>(fitting));
  options.shuffle = false;
  options.drop_last = false;
  options.listener = nullptr;  // who listens wants the batches of the training
  return options;
}

// A batch as the loss and the metrics see it. `moved` keeps the columns.
BatchView view_of(const FitPlan& plan, const Batch& batch, std::int64_t members, Key key,
                  const std::weak_ptr<Object>& run, std::vector<at::Tensor>& moved) {
  moved.assign(batch.columns.begin(), batch.columns.end());
  device_at(plan.device).take(moved);
  return {.columns = moved,
          .index = batch.index,
          .size = batch.size,
          .members = members,
          .key = key,
          .run = run.lock()};
}

c10::SmallVector<at::Tensor, 4> model_inputs(const FitPlan& plan, const BatchView& view) {
  c10::SmallVector<at::Tensor, 4> inputs;
  for (const std::size_t column : plan.inputs) inputs.push_back(view.columns[column]);
  return inputs;
}

template <class Compute>
LossValue loss_of(const FitPlan& plan, const Compute& compute) {
  const Span span(Phase::loss);
  try {
    return compute();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& exception) {
    const Error plain = operator_error(exception);
    if (plain.kind() != ErrorKind::recipe) throw plain;
    throw plan.options.error("loss", plain.message());
  }
}

std::size_t key_count(std::int64_t members) { return static_cast<std::size_t>(members ? members : 1); }

}  // namespace

Evaluator::Evaluator(const FitPlan& plan, const Part& part, std::string prefix, std::int64_t members)
    : plan_(plan),
      prefix_(std::move(prefix)),
      members_(members),
      key_(Key(static_cast<std::uint64_t>(plan.seed)).fold("evaluation").fold(prefix_)),
      loader_(part, evaluation_loader(plan), std::vector<Key>(key_count(members), Key(0)), members > 0),
      meter_(members, plan.loss->parts()) {
  for (const PlannedMetric& metric : plan.metrics) metrics_.push_back(metric.make(plan.head, members));
}

void Evaluator::each(const Each& function) {
  const c10::InferenceMode no_gradients;
  // The loader runs in order without end: each evaluation takes one epoch, and batches prefetched beyond its end begin
  // the next evaluation.
  std::vector<at::Tensor> moved;
  for (std::int64_t i = 0; i < loader_.batches_per_epoch(); ++i) {
    const Batch batch = next_batch(plan_, loader_);
    const BatchView view = view_of(plan_, batch, members_, key_.fold(static_cast<std::uint64_t>(i)), run_, moved);
    function(view, model_inputs(plan_, view));
  }
}

at::Tensor Evaluator::forward(std::span<const at::Tensor> inputs, const Pass& pass) {
  const std::int64_t samples = members_ > 0 ? 1 : 0, size = inputs.front().size(samples);
  while (true) {
    const std::int64_t most = most_ > 0 ? std::min(most_, size) : size;
    try {
      if (most == size) return plan_.model->forward(inputs, pass);
      std::vector<at::Tensor> outputs;
      for (std::int64_t first = 0; first < size; first += most) {
        std::vector<at::Tensor> part;
        for (const at::Tensor& input : inputs)
          part.push_back(input.narrow(samples, first, std::min(most, size - first)));
        outputs.push_back(plan_.model->forward(part, pass));
      }
      return at::concat(outputs, samples);
    } catch (const TensorMemoryLimit&) {
      if (most == 1) throw;
    }
    most_ = (most + 1) / 2;
  }
}

std::vector<MetricMap> Evaluator::run(const ModelState& state) {
  const Pass pass{.state = state, .training = false, .keys = {}};
  return run([&](std::span<const at::Tensor> inputs) { return forward(inputs, pass); });
}

std::vector<MetricMap> Evaluator::run(const Forward& forward) {
  const Span span(Phase::validate, prefix_);
  meter_.reset();
  for (const auto& metric : metrics_) metric->reset();
  each([&](const BatchView& view, std::span<const at::Tensor> inputs) {
    const at::Tensor out = forward(inputs);
    meter_.add(loss_of(plan_, [&] { return (*plan_.loss)(out, view); }), view.size);
    const Span measured(Phase::metrics);
    for (const auto& metric : metrics_) metric->update(out, view);
  });
  const Span measured(Phase::metrics);
  std::vector<MetricMap> results(key_count(members_));
  for (std::size_t m = 0; m < results.size(); ++m) results[m] = meter_.metrics(prefix_, m);
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    if (!plan_.metrics[i].is_number) continue;
    const std::vector<double> values = metrics_[i]->compute();
    for (std::size_t m = 0; m < results.size(); ++m) results[m][prefix_ + "." + plan_.metrics[i].name] = values[m];
  }
  return results;
}

Value Evaluator::reports(std::size_t member) const {
  Value all;
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    Value report = metrics_[i]->report(member);
    if (!report.is_nil()) all.set(prefix_ + "." + plan_.metrics[i].name, std::move(report));
  }
  return all;
}

// -------------------------------------------------------------------------------------------------------------- Group

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
    parameters.push_back({.name = info.name, .value = state_.parameters[i], .decays = info.decays});
  }
  for (std::size_t i = 0; i < state_.buffers.size(); ++i) {
    tensors.push_back({.name = plan.model->buffers()[i].name,
                       .value = state_.buffers[i],
                       .averages = plan.model->buffers()[i].averages});
  }
  if (plan.precision.compute == at::kHalf) {
    scaler_ = std::make_shared<LossScaler>(state_.members);
    passes_.insert(passes_.begin(), scaler_);
    may_skip_ = true;
  }
  optimizer_ = make_optimizer(optimizers, std::move(parameters), state_.members);
  if (!averages.empty())
    average_ = std::make_unique<WeightAverage>(averages, plan.length, std::move(tensors), state_.members);
  gradients_.resize(trained_.size());
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
  const at::Tensor out = plan_.model->forward(model_inputs(plan_, view), pass);
  if (!plan_.chunk_loss) return loss_of(plan_, [&] { return (*plan_.loss)(out, view); });
  const Layer::Linear last = *plan_.model->chain().back()->linear();
  return loss_of(plan_, [&] {
    return plan_.loss->of_linear(out, pass.parameter(last.weight),
                                 last.bias ? pass.parameter(*last.bias) : at::Tensor(), view);
  });
}

// Moved out, so that the next backward pass stores its gradients instead of adding to these.
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
  if (lost.is_meta() || !lost.any().item<bool>()) return loss;
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

// In float16 a forward pass may overflow as gradients may; the step is left out, and its loss says nothing.
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

// The batches in parts of at most so many samples, in their order; empty where they are no larger.
std::vector<Batch> micro_batches(std::span<const Batch> batches, std::int64_t most, bool axis) {
  std::vector<Batch> parts;
  if (most == 0 || std::ranges::all_of(batches, [&](const Batch& batch) { return batch.size <= most; })) return parts;
  const std::int64_t samples = axis ? 1 : 0;
  for (const Batch& batch : batches) {
    for (std::int64_t first = 0; first < batch.size; first += most) {
      const std::int64_t count = std::min(most, batch.size - first);
      Batch part{.columns = {},
                 .index = batch.index.narrow(samples, first, count),
                 .size = count,
                 .epoch = batch.epoch,
                 .position = batch.position + first};
      for (const at::Tensor& column : batch.columns) part.columns.push_back(column.narrow(samples, first, count));
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

}  // namespace

at::Tensor Group::differentiate(std::span<const Batch> batches, std::int64_t step, bool is_first) {
  if (batches.size() == 1) {
    const LossValue loss = forward(batches[0], step, 0, 1, is_first);
    // Members do not meet anywhere but in this sum, so each gets the gradient of its own mean.
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
  std::vector<LossValue> losses;  // counted when no micro-batch can raise any more
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

at::Tensor Group::evaluate(std::span<const Batch> given, std::int64_t step, bool is_first) {
  // Running statistics move in each forward pass.
  std::vector<at::Tensor> statistics;
  if (is_first && tensor_memory_limit() > 0) {
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
    } catch (const TensorMemoryLimit& error) {
      const std::int64_t largest = std::ranges::max(batches, {}, &Batch::size).size;
      if (largest == 1 || fused_) throw;  // a fused step may have stepped parameters already
      micro_batch_ = {.samples = (largest + 1) / 2, .because = error.headline()};
    }
    drop_gradients();
    const at::NoGradGuard no_gradients;
    for (std::size_t i = 0; i < statistics.size(); ++i) state_.buffers[i].copy_(statistics[i]);
  }
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
}

namespace {

// The error names the pass.
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

void Group::apply_passes(const StepFacts& facts) {
  const Span span(Phase::gradients);
  const at::NoGradGuard no_gradients;
  for (const auto& pass : passes_) {
    const Verdict verdict = verdict_of(*pass, gradients_, facts);
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
      if (!live[i].per_member && axis()) continue;  // shared with rows that have taken the step
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
  // A forward pass changes the running statistics of all members; those of members that have ended come back.
  std::vector<std::pair<at::Tensor, at::Tensor>> kept;
  for (const at::Tensor& buffer : state_.buffers) {
    for (std::size_t row = 0; row < steps_.size(); ++row) {
      if (steps_[row]) continue;
      const at::Tensor own = member_slice(buffer, axis(), row);
      kept.emplace_back(own, own.clone());
    }
  }
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

bool Group::averaged(std::size_t member) const {
  if (is_final_[member]) return false;
  return has_own_average_ || (average_ && average_->evaluated(member) && average_->begun(member));
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
  NamedTensors all;
  for (auto& [name, tensor] : named_state(*plan_.model, state_, slice(member))) all.emplace(name, tensor);
  for (auto& [name, tensor, per_member] : stored_state()) all.emplace(name, member_slice(tensor, per_member, member));
  if (!has_own_average_ || !averaged(member)) return all;
  // For those who read the weights of a checkpoint; restore() does not need these tensors.
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
    if (name == loss_scale && !tensors.contains(name)) continue;  // of a fit that was not in float16 so far
    const at::Tensor target = member_slice(tensor, per_member, member);
    target.copy_(stored(tensors, name, target.sizes()));
  }
}

void Group::load_weights(std::size_t member, const NamedTensors& tensors) {
  load_named_state(*plan_.model, state_, tensors, slice(member));
  is_final_[member] = 1;
  drop_gradients();  // of other weights
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

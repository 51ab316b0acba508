// Group: the arithmetic of M ≥ 1 members that train together. No folders, no callbacks.
//
// A plain fit is a group of one member without a member axis; stacked trials have a member axis. Not thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/loader.h"
#include "objective/loss_meter.h"
#include "objects/model_object.h"
#include "optim/average.h"
#include "optim/optimizer.h"
#include "train/fit_plan.h"
#include "train/gradient_pass.h"
#include "train/trained.h"

namespace trainlab {

class ActivationFile;
class FusedStep;
class LossScaler;

class Group final : public Trained {
 public:
  // One key and one optimizer spec for each member; `axis` = false for a plain fit with one of each. `averages`: a spec
  // for each member if averages of the weights are kept (lab.ema, lab.swa). `drop_rates`: given if members differ in
  // them.
  Group(const FitPlan& plan, std::span<const Key> keys, std::span<const Options> optimizers, bool axis,
        std::span<const Options> averages = {}, DropRates drop_rates = {});
  ~Group() override;

  // Adds gradient passes from outside, after the passes of the option `clip`, or before them where a pass says so.
  // `places`: what the passes are told of the rows (StepFacts). Called once; in float16 on a device that computes
  // behind the host, each step of a group without this call waits for the device.
  void add_passes(std::span<const std::shared_ptr<GradientPass>> passes, std::vector<std::size_t> places);

  void step(std::span<const Batch> batches, std::int64_t step, const StepInputs& inputs) override;
  bool take_back_step() override { return !has_changed_; }
  void set_total(std::int64_t total_steps) override;
  const MicroBatch& micro_batch() const override { return micro_batch_; }
  void shrink_micro_batch(std::int64_t samples) override;

  const ModelState& state() const override;
  LossMeter& train_loss() { return train_loss_; }
  bool axis() const { return state_.members > 0; }

  MetricMap metrics(std::size_t member) override { return train_loss_.metrics("train", member); }
  bool finite(std::size_t member) override { return train_loss_.finite(member); }
  void reset_metrics() override { train_loss_.reset(); }
  Scaling scaling(std::size_t member) const override;
  std::optional<std::string> failure(std::size_t member) const override;
  Value progress(std::size_t member) override { return train_loss_.state(member); }
  void restore_progress(std::size_t member, const Value& state) override { train_loss_.restore(member, state); }

  // Begins with this state of the optimizer in place of its own, for all members; by the optimizer's names for its
  // tensors. Error{recipe} where a tensor is missing or has another shape: the state is that of another optimizer.
  void take_optimizer(const NamedTensors& state);

  NamedTensors tensors(std::size_t member) override;
  void restore(std::size_t member, const NamedTensors& tensors) override;
  NamedTensors weights(std::size_t member) const override;
  bool averaged(std::size_t member) const override;
  std::optional<std::int64_t> average_updates(std::size_t member) const override;
  void load_weights(std::size_t member, const NamedTensors& tensors) override;

  // The weights themselves, or of a member of several a view of its own. Between two steps the tensors have the
  // gradients with which the latest step was taken.
  RunHandle::Objects models(std::size_t member) override;

 private:
  std::int64_t slice(std::size_t member) const { return axis() ? static_cast<std::int64_t>(member) : -1; }
  // Forward and backward over the micro-batches; leaves the gradients in gradients_. The mean loss, 0-dim or [M]. Only
  // the first evaluation of a step counts in the training loss and in the running statistics.
  at::Tensor evaluate(std::span<const Batch> batches, std::int64_t step, bool is_first);
  // The part of evaluate() that is repeated where memory runs out: when it raises, only gradients and running
  // statistics have changed.
  at::Tensor differentiate(std::span<const Batch> micro_batches, std::int64_t step, bool is_first);
  LossValue forward(const Batch& batch, std::int64_t step, std::size_t micro_batch, std::size_t micro_batches,
                    bool is_first);
  void count_loss(const LossValue& loss, std::int64_t samples);
  void take_gradients();
  // The parameters have the gradients of the step until the next step begins.
  void leave_gradients();
  void drop_gradients();
  ModelState view_of_member(std::size_t member) const;
  // Applies the passes to gradients_; rows that a pass leaves out become 0 in steps_.
  void apply_passes(StepFacts facts);
  bool any_steps() const;
  // The optimizer's step of the rows in steps_; rows that are left out while the optimizer evaluates again are put
  // back.
  void optimize(const StepInputs& inputs);
  std::vector<OptimizerTensor> stored_state();  // optim.…, ema.… and the loss scale
  // Copies the averaged weights that the optimizer keeps of a member into the tensors that `to` names.
  void take_own_average(std::size_t member, const std::function<at::Tensor(std::size_t parameter)>& to) const;

  const FitPlan& plan_;
  std::vector<Key> keys_;
  bool has_own_average_;  // of the optimizer
  DropRates drop_rates_;
  ModelState state_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<FusedStep> fused_;             // null unless the plan says so
  std::unique_ptr<ActivationFile> activations_;  // ditto
  MicroBatch micro_batch_;
  std::int64_t steps_here_ = 0;  // taken by this process
  std::unique_ptr<WeightAverage> average_;
  std::vector<std::uint8_t> is_final_;  // by member: whether its final weights are loaded
  mutable ModelState validated_;        // the result of state() if there is an average
  LossMeter train_loss_;
  std::vector<Key> pass_keys_;          // reused each step
  std::vector<at::Tensor> trained_;     // the parameters that are not frozen
  std::vector<at::Tensor> gradients_;   // reused each step
  std::shared_ptr<LossScaler> scaler_;  // null but in float16; the first of the passes
  std::vector<std::shared_ptr<GradientPass>> passes_;
  // The model that a member's functions have seen since the latest step; what they switch holds until the next step.
  std::map<std::size_t, std::shared_ptr<ModelObject>> views_;
  std::vector<std::size_t> places_;  // by row
  bool has_changed_ = false;         // whether the present step has changed more than gradients
  bool may_skip_ = false;            // whether passes may leave rows out
  std::vector<std::uint8_t> steps_;  // by row: 1 where the present step is taken
};

}  // namespace trainlab

// Trained: what a fit trains, as its loop and its members see it: a group of models that take the same step (Group), or
// the models of a recipe that writes its own step (OwnStep). Not thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "data/loader.h"
#include "model/model.h"
#include "objective/metric.h"
#include "objects/run_handle.h"
#include "optim/optimizer.h"

namespace trainlab {

// The scale of the loss in a fit that computes in float16, and the steps that were left out for it.
struct Scaling {
  double scale = 1;
  std::int64_t skipped_steps = 0;
};

// How much of a batch goes through the model at a time.
struct MicroBatch {
  std::int64_t samples = 0;  // at most; 0: the whole batch
  std::string because = {};  // the error after which it became smaller in this process
};

class Trained {
 public:
  virtual ~Trained() = default;

  // One optimizer step on a batch, or on the micro-batches that are accumulated to one. `step` counts from 0 and keys
  // the randomness. inputs.rates: the learning rate of each member of a group, or of each optimizer of an own step. A
  // member with active[m] = false stays as it is; an empty `active` means all.
  virtual void step(std::span<const Batch> batches, std::int64_t step, const StepInputs& inputs) = 0;

  // Where a step comes to tensor_memory_limit(), or one of the first steps of a process to the end of its device's
  // memory, it is taken again with half as many samples at a time, and so are the steps after it; the gradients are
  // those of the whole batch, as with the option `accumulate`. The error leaves step() where a single sample does not
  // fit, and where a part of the step cannot be repeated.
  virtual const MicroBatch& micro_batch() const {
    static const MicroBatch whole;
    return whole;
  }
  // Takes at most this many samples at a time, a checkpoint's number; a smaller size stays.
  virtual void shrink_micro_batch(std::int64_t samples) { (void)samples; }

  // After an error in step(): takes back what the step has changed of that which a checkpoint holds. False where it
  // cannot, because weights, an optimizer's state or sums of gradients are others than before.
  virtual bool take_back_step() = 0;

  // Sets the total number of steps, which a time budget leaves open until it is estimated.
  virtual void set_total(std::int64_t total_steps) { (void)total_steps; }

  // The weights that are validated: the average of the weights, if one is kept for this purpose.
  virtual const ModelState& state() const = 0;

  // Training metrics of a member since reset_metrics(), by full name: "train.loss". Synchronises the device.
  virtual MetricMap metrics(std::size_t member) = 0;
  // False when a loss since reset_metrics() was NaN or infinite. Synchronises other devices than the CPU.
  virtual bool finite(std::size_t member) = 0;
  virtual void reset_metrics() = 0;
  // Waits for the device, as failure() does.
  virtual Scaling scaling(std::size_t member) const { return (void)member, Scaling(); }
  // A reason to end the fit of a member beside a loss that is not finite.
  virtual std::optional<std::string> failure(std::size_t member) const { return (void)member, std::nullopt; }
  // Called after each validation, for schedules of a step function that use its metrics.
  virtual void validated(double value, bool minimize) { (void)value, (void)minimize; }
  // The state of a member beside its tensors, exact, for checkpoints.
  virtual Value progress(std::size_t member) = 0;
  virtual void restore_progress(std::size_t member, const Value& state) = 0;

  // Reads and restores the tensors of one member under their names in checkpoints (model.…, optim.…). Restored values
  // are copied. Error{recipe} if a tensor is missing or has another shape.
  virtual NamedTensors tensors(std::size_t member) = 0;
  virtual void restore(std::size_t member, const NamedTensors& tensors) = 0;
  // Copies the validated weights and buffers (model.…) of a member, and puts such copies back as the member's final
  // weights.
  virtual NamedTensors weights(std::size_t member) const = 0;
  virtual void load_weights(std::size_t member, const NamedTensors& tensors) = 0;

  // The learning rate of the latest step with a step function, NaN if there are several rates; nullopt: the rate given
  // to step().
  virtual std::optional<double> rate() const { return std::nullopt; }

  // Whether weights() of a member are averages: the tensors ema.… of tensors() instead of model.….
  virtual bool averaged(std::size_t member) const { return (void)member, false; }
  // How many times the average of a member's option `ema` has taken the weights in; nullopt where the fit keeps no such
  // average in place of the weights.
  virtual std::optional<std::int64_t> average_updates(std::size_t member) const { return (void)member, std::nullopt; }

  // The number of steps from the beginning of the fit that have changed no weight, as those of a step function do that
  // does not call its optimizer; 0 once a step has changed one, and in a fit that was resumed.
  virtual std::int64_t still_steps() const { return 0; }
  // The number of optimizer steps of a step function in this process that were taken with gradients to which those of
  // the step before still belonged.
  virtual std::int64_t steps_on_used_gradients() const { return 0; }

  // The value of run.model for a member.
  virtual RunHandle::Objects models(std::size_t member) = 0;
  // The value of run.optim of a step function; empty where step() takes the optimizer's steps.
  virtual RunHandle::Objects optimizers() const { return {}; }
  // The object `run` that functions of the recipe get where there is one member. It is not kept alive.
  void set_run(std::weak_ptr<Object> run) { run_ = std::move(run); }
  // The models of a step function compute as in evaluation until the next step.
  virtual void begin_evaluation() {}

 protected:
  std::weak_ptr<Object> run_;
};

}  // namespace trainlab

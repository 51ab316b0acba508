// GradientPass: what happens to the gradients of a step between the backward pass and the optimizer: clipping,
// unscaling, a reduction over processes, statistics, a mask, or the decision to leave the step out.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace trainlab {

// Facts about the step, for passes. A row is a member, or the single model if there is no member axis.
struct StepFacts {
  std::int64_t step = 0;     // from 0
  std::int64_t members = 0;  // size of the gradients' leading member axis; 0: there is none
  at::Tensor loss;           // the mean loss that the gradients belong to: 0-dim, or [members]
  bool is_again = false;     // true in further evaluations of the step's batch, for which optim.SAM and others ask
  std::span<const std::uint8_t> active;  // by row: 0 for a row that takes no step
  // By row: the place of its member among the members with which the fit began in this process. Members that have ended
  // may leave, and then the others move to other rows. Rows beyond these places are padding.
  std::span<const std::size_t> places;
  // By row: StepInputs::found_inf, where the optimizer leaves rows out and no verdict tells; else empty.
  std::span<const at::Tensor> found_inf = {};
  // The parameters to which the gradients belong, in the same order, before the step. A pass does not change them.
  std::span<const at::Tensor> weights = {};
  // Repeats the forward pass of the step's batches, with the same random numbers. Nothing of the repetition counts in
  // the training loss or in running statistics.
  const std::function<void()>* repeat_forward = nullptr;
};

// The rows that a pass leaves out of the step: 1 for each row that is left out; empty: none.
struct Verdict {
  std::vector<std::uint8_t> skipped = {};
};

class GradientPass {
 public:
  virtual ~GradientPass() = default;
  // For messages: "clip by norm".
  virtual std::string_view name() const = 0;
  // Changes the gradients in place, or replaces them by others of the same shape, dtype and device. The gradient of a
  // parameter that had no part in the loss is undefined. Called on the thread that trains, without recording of
  // gradients, in the order of the passes; a pass is not called if earlier passes have left out all rows. An error ends
  // the fit and names the pass; the checkpoints stay as they are.
  //
  // A row that is left out keeps its weights, optimizer state and average of weights in this step, which counts as
  // done: the loss is measured, and running statistics include the batch.
  virtual Verdict apply(std::span<at::Tensor> gradients, const StepFacts& facts) = 0;
  // Whether a verdict of this pass may leave rows out. A pass that never does says so, because some optimizers have to
  // keep a copy of their state where one may.
  virtual bool may_skip() const { return true; }
  // Whether the pass may be given the gradients of a row that the step leaves out, which StepFacts::found_inf tells. In
  // float16 on a device that computes behind the host, where all passes may, nobody waits for the device.
  virtual bool takes_lost_steps() const { return false; }
  // Whether the pass comes before those of the option `clip`: the gradients are then as the backward pass has left
  // them, unscaled.
  virtual bool comes_before_clip() const { return false; }
};

}  // namespace trainlab

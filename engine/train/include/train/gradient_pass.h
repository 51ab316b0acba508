// GradientPass: what happens to the gradients of a step between the backward pass and the optimizer: clipping,
// unscaling, a reduction over processes, statistics, a mask, or the decision to leave the step out.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace trainlab {

// What a pass may know of the step. A row is a member, or the one model where there is no member axis.
struct StepFacts {
  std::int64_t step = 0;     // from 0
  std::int64_t members = 0;  // size of the gradients' leading member axis; 0: there is none
  at::Tensor loss;           // the mean loss that the gradients belong to: 0-dim, or [members]
  bool is_again = false;     // of a further evaluation of the step's batch, which optim.SAM and others ask for
  std::span<const std::uint8_t> active;  // by row: 0 for a row that takes no step, whatever its gradients
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
  // Changes the gradients in place, or puts others of the same shape, dtype and device. Undefined where a parameter had
  // no part in the loss. Called on the thread that trains, without recording of gradients, in the order of the passes;
  // a pass is not called when the passes before have left out all rows. An error ends the fit and names the pass; the
  // checkpoints stay as they are.
  //
  // A row that is left out keeps its weights, optimizer state and average of weights in this step, which counts as
  // done: the loss is measured, and running statistics have taken the batch in.
  virtual Verdict apply(std::span<at::Tensor> gradients, const StepFacts& facts) = 0;
};

}  // namespace trainlab

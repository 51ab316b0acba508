// The option memory.fuse_step: the optimizer steps each parameter within the backward pass, as soon as the parameter's
// gradient is complete, and the gradient is freed at once. The weights are those of a step after the backward pass.
#pragma once

#include <span>
#include <vector>

#include "optim/optimizer.h"

namespace trainlab {

class FusedStep {
 public:
  // `parameters`: the optimizer's, which must be leaves. `clip_value`: the bound to which values of gradients are
  // clipped; 0: none.
  FusedStep(std::span<const at::Tensor> parameters, Optimizer& optimizer, double clip_value);
  ~FusedStep();
  FusedStep(const FusedStep&) = delete;

  // Backward passes between begin() and end() step the parameters; others leave gradients as usual. `inputs` must live
  // until end().
  void begin(const StepInputs& inputs) { inputs_ = &inputs; }
  void end() { inputs_ = nullptr; }

 private:
  class Hook;
  void step(std::size_t parameter, const at::Tensor& leaf);

  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> gradients_;  // undefined except that of the parameter being stepped
  Optimizer& optimizer_;
  double clip_value_;
  const StepInputs* inputs_ = nullptr;
};

}  // namespace trainlab

// GradientReader: the part of a stop rule that reads the gradients of its member's steps. Not thread-safe.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "tensor/named_tensors.h"

namespace trainlab {

class GradientReader {
 public:
  virtual ~GradientReader() = default;
  // Called in each step that the member takes, before its gradients are clipped and the weights change. `step`: from 0.
  // `gradients`: of each parameter that trains, always in the same order, float32, zeros for a parameter that had no
  // part in the loss; they change after the call. `found_inf`: StepInputs::found_inf of the member where it tells that
  // the optimizer leaves the step out; else undefined. Reads no value of a tensor, because that would wait for the
  // device.
  virtual void read(std::int64_t step, std::span<const at::Tensor> gradients, const at::Tensor& found_inf) = 0;
  // How many float32 numbers the rule keeps for each weight that trains, for predictions of memory.
  virtual std::int64_t numbers_per_weight() const = 0;
  // The tensors that a checkpoint keeps beside StopRule::state(). After StopRule::restore(), restore_tensors() gets
  // copies of these tensors on the device of the fit.
  virtual NamedTensors tensors() const = 0;
  virtual void restore_tensors(const NamedTensors& kept) = 0;
};

}  // namespace trainlab

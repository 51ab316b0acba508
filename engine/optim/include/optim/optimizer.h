// Optimizers for one model or a group of M members, on ATen's fused kernels where there is one model.
//
// An optimizer owns nothing but its state tensors. Rates come in from outside at each step (schedules, run:set_lr),
// one per member. Nothing synchronises the device. Not thread-safe.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/registry.h"

namespace trainlab {

// The parameters of one optimizer. With members > 0 each tensor has a leading member axis.
struct OptimizedParameter {
  std::string name;  // "2.weight"
  at::Tensor value;
  bool decays = true;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // One step in place. gradients[i] belongs to parameter i (undefined: no gradient, skipped as PyTorch does).
  // rates[m]: learning rate of member m (one element where there is no member axis). A member with active[m] = false
  // keeps its parameters and state; an empty `active` means all.
  virtual void step(std::span<const at::Tensor> gradients, std::span<const double> rates,
                    std::span<const std::uint8_t> active = {}) = 0;

  // State under stable names ("2.weight.exp_avg", "step"), for checkpoints; tensors are the live ones.
  virtual std::vector<std::pair<std::string, at::Tensor>> state() = 0;
};

// `specs`: one spec per member (of the same entry; they may differ in numbers), one where there is no member axis.
std::unique_ptr<Optimizer> make_optimizer(std::span<const Options> specs, std::vector<OptimizedParameter> parameters,
                                          std::int64_t members);

using OptimizerFactory = std::function<std::unique_ptr<Optimizer>(std::span<const Options>, std::vector<OptimizedParameter>, std::int64_t members)>;

void register_optim(Registry& registry);  // optimizers and schedules

}  // namespace trainlab

// Optimizers for one model or a group of M members.
//
// There are three ways to update a parameter. Adam and SGD of a model without a member axis, and with such an axis on
// other devices than the CPU, use ATen's fused operators. Muon and L-BFGS, which compute with whole matrices and with
// products of all parameters, use single operators of LibTorch on every device. All others have native kernels of one
// pass for tensors of the CPU (kernels.h), and on other devices single operators of LibTorch (whole.h).
//
// An optimizer owns only its state tensors. The caller gives a rate for each member at each step (schedules,
// run:set_lr). Only optimizers that use the loss synchronise the device. Not thread-safe.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/registry.h"

namespace trainlab {

// How a step rounds weights in bfloat16: up or down at random, so that the mean is right, or to the nearest, with the
// rest kept beside each weight.
enum class WeightRounding { none, stochastic, compensated };

// The parameters of one optimizer. With members > 0 each tensor has a leading member axis.
struct OptimizedParameter {
  std::string name;  // "2.weight"
  at::Tensor value;
  bool decays = true;
  WeightRounding rounding = WeightRounding::none;  // of values in bfloat16, which an optimizer takes with one only
};

// Loss (0-dim, or [M]) and gradients at the parameters' present values.
struct Evaluation {
  at::Tensor loss;
  std::span<const at::Tensor> gradients;
};

// Evaluates the same batch again, with the same randomness. The gradients stay as they are until the next call.
using Reevaluate = std::function<Evaluation()>;

// The inputs of a step; a row is a member, or the single model without a member axis.
struct StepInputs {
  std::span<const double> rates;              // learning rate of each row
  std::span<const std::uint8_t> active = {};  // a row with 0 keeps its parameters and state; empty: all are active
  std::span<const double> momentum = {};      // factors of the spec's momentum or first beta, by row; empty: 1
  std::span<const double> weight_decay = {};  // factors of the spec's weight decay, by row; empty: 1
  at::Tensor loss = {};                       // of the given gradients; for optimizers that evaluate again
  const Reevaluate* reevaluate = nullptr;     // ditto
  // A float32 tensor [1] on the device for each row, undefined for a row that is not active: 1 where the row keeps its
  // parameters and state, else 0. Empty: every row takes the step. For optimizers with takes_found_inf() only.
  std::span<const at::Tensor> found_inf = {};
};

// A tensor of an optimizer's state.
struct OptimizerTensor {
  std::string name;         // "2.weight.exp_avg", "step"
  at::Tensor tensor;        // the live one
  bool per_member = false;  // the leading axis is that of the members; otherwise all members share the tensor
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // One step in place. gradients[i] belongs to parameter i (undefined: no gradient, skipped as PyTorch does).
  // Error{recipe} if the optimizer must evaluate the loss again within a step and cannot.
  virtual void step(std::span<const at::Tensor> gradients, const StepInputs& inputs) = 0;
  void step(std::span<const at::Tensor> gradients, std::span<const double> rates,
            std::span<const std::uint8_t> active = {}) {
    step(gradients, StepInputs{.rates = rates, .active = active});
  }

  // Whether step() wants `loss` and `reevaluate`.
  virtual bool evaluates_again() const { return false; }

  // Where keeps_average(): the averaged weights of a row, which are to be validated and kept in place of the trained
  // ones, into one tensor for each parameter, of its shape without a member axis.
  virtual void averaged_weights(std::int64_t row, std::span<const at::Tensor> to) const;
  // Whether step() takes StepInputs::found_inf, and so leaves rows out without waiting for the device.
  virtual bool takes_found_inf() const { return false; }
  // Whether steps with one gradient each, one after the other, are the step with all of them.
  virtual bool steps_by_parameter() const { return false; }

  // State under stable names, for checkpoints.
  virtual std::vector<OptimizerTensor> state() = 0;
};

// `specs`: one spec for each member (of the same entry, possibly with different numbers), or a single spec without a
// member axis. Error{recipe} for parameters that the optimizer does not take.
std::unique_ptr<Optimizer> make_optimizer(std::span<const Options> specs, std::vector<OptimizedParameter> parameters,
                                          std::int64_t members);

// The learning rate in a spec; for a wrapper, that of the wrapped optimizer.
double learning_rate(const Options& spec);
// UsualRates::largest of the optimizer in a spec; for a wrapper, that of the wrapped optimizer.
double largest_usual_rate(const Options& spec);
// The path of an option in a fit with the optimizer: "optim.lr", or "optim.base.lr" for a wrapper such as optim.SAM.
std::string option_path_of(const Value& optimizer, std::string_view option);
// The innermost spec of wrappers such as optim.SAM.
Options unwrapped(const Options& spec);
// The spec of an optimizer with another such rate.
Value with_rate(Value optimizer, double rate);
// Whether there is a momentum (or a first beta), or a weight decay, that a schedule could act on.
bool has_momentum(const Options& spec);
bool has_weight_decay(const Options& spec);

// Whether the optimizer, and those that its options name, step a group of several members.
bool takes_members(const Options& spec);

// Whether the optimizer itself keeps an average of the weights, which is to be validated and kept (Schedule-Free).
bool keeps_average(const Options& spec);

// How the best learning rate of an optimizer grows with the size of the batch (optim/scaled_rate.h).
enum class RateGrowth {
  slow,  // each step is divided by the size of past gradients
  fast,  // descent, perhaps with momentum
  none,  // the optimizer finds the size of its steps itself, or nobody knows
};

// What is known of an optimizer's learning rates, whatever it trains. A wrapper has the rates of its base.
struct UsualRates {
  // The largest rate that is in use with networks of the usual initial weights, rounded to half a decade: by the papers
  // of the optimizers, their authors' code, and training recipes. 1 where the optimizer finds the size of its steps
  // itself and the rate is a factor of this size. 0: a wrapper.
  double largest = 0;
  RateGrowth growth = RateGrowth::slow;
  // With RateGrowth::none: the option without which the optimizer does not find the size of its steps itself; null:
  // it always does.
  const char* search = nullptr;
};

// The implementation of an entry of kind "optimizer".
struct OptimizerKind {
  std::function<std::unique_ptr<Optimizer>(std::span<const Options>, std::vector<OptimizedParameter>,
                                           std::int64_t members)>
      make;
  bool stackable = true;       // takes a group of several members
  bool keeps_average = false;  // has Optimizer::averaged_weights()
  UsualRates rates = {};
  bool takes_bfloat16 = false;  // steps weights in bfloat16
};

void register_optim(Registry& registry);  // optimizers, schedules and averages of weights

}  // namespace trainlab

// Passes a batch through the model and the loss, in training steps and in evaluations.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <exception>
#include <memory>
#include <vector>

#include "core/trace.h"
#include "objective/loss.h"
#include "train/fit_plan.h"

namespace trainlab {

class Object;  // core/callable.h

// The batch on the fit's device, in the form that the loss and the metrics take. `moved` owns the columns. `members` =
// 0: no member axis. `run`: the object that a recipe's functions get.
BatchView view_of(const FitPlan& plan, const Batch& batch, std::int64_t members, Key key,
                  const std::weak_ptr<Object>& run, std::vector<at::Tensor>& moved);

// The columns that the model reads.
c10::SmallVector<at::Tensor, 4> model_inputs(const FitPlan& plan, const BatchView& view);

// Raises the error of an operator within the loss: Error{recipe} at the option `loss` if the recipe can correct it.
[[noreturn]] void raise_loss_error(const FitPlan& plan, const std::exception& exception);

// The loss that `compute` returns.
template <class Compute>
LossValue loss_of(const FitPlan& plan, const Compute& compute) {
  const Span span(Phase::loss);
  try {
    return compute();
  } catch (const std::exception& exception) {
    raise_loss_error(plan, exception);
  }
}

}  // namespace trainlab

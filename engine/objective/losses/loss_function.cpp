// A loss written in the recipe: function(out, batch) → scalar[, count].
#include <ATen/core/grad_mode.h>
#include <ATen/ops/scalar_tensor.h>

#include "core/trace.h"
#include "functions.h"
#include "objective/losses.h"

namespace trainlab {

namespace {

class FunctionLoss final : public Loss {
 public:
  FunctionLoss(std::shared_ptr<Callable> function, const Head& head) : call_(std::move(function), head, "loss") {}

  LossValue operator()(const at::Tensor& out, const BatchView& batch) const override {
    const std::vector<Argument> results = called(out, batch);
    if (results.empty()) throw call_.error("expected a scalar tensor, found nothing").hint("return the loss");
    LossValue loss;
    loss.value = call_.scalar(results[0], "a scalar tensor");
    if (!loss.value.defined()) {
      throw call_.error("expected a scalar tensor, found a number: it carries no gradient").hint("without :item()");
    }
    if (at::GradMode::is_enabled() && !loss.value.requires_grad()) {
      throw call_.error("the loss does not depend on the model's parameters")
          .hint("compute it from `out`, outside of lab.no_grad and without :detach()");
    }
    if (results.size() > 1) {
      loss.weight = call_.scalar(results[1], "a count as second result");
      if (!loss.weight.defined()) {
        loss.weight =
            at::scalar_tensor(std::get<Value>(results[1]).number(), loss.value.options().requires_grad(false));
      }
      loss.weight = loss.weight.detach();
    }
    return loss;
  }

 private:
  // The time of the function is the recipe's, unlike that of the engine's own losses.
  std::vector<Argument> called(const at::Tensor& out, const BatchView& batch) const {
    const Span span(Phase::callback, "loss");
    return call_(out, batch);
  }

  BatchFunction call_;
};

}  // namespace

std::unique_ptr<Loss> function_loss(std::shared_ptr<Callable> function, const Head& head) {
  return std::make_unique<FunctionLoss>(std::move(function), head);
}

}  // namespace trainlab

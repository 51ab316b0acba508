#include "fused_step.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "core/trace.h"
#include "optim/clip.h"

namespace trainlab {

// Autograd calls the hook once in a backward pass, after all uses of the parameter have added to its gradient.
class FusedStep::Hook final : public torch::autograd::PostAccumulateGradHook {
 public:
  Hook(FusedStep& owner, std::size_t parameter) : owner_(owner), parameter_(parameter) {}
  void operator()(const at::Tensor& leaf) override { owner_.step(parameter_, leaf); }

 private:
  FusedStep& owner_;
  std::size_t parameter_;
};

FusedStep::FusedStep(std::span<const at::Tensor> parameters, Optimizer& optimizer, double clip_value)
    : parameters_(parameters.begin(), parameters.end()),
      gradients_(parameters.size()),
      optimizer_(optimizer),
      clip_value_(clip_value) {
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    torch::autograd::impl::set_post_acc_grad_hooks(parameters_[i], std::make_unique<Hook>(*this, i));
}

FusedStep::~FusedStep() {
  for (const at::Tensor& parameter : parameters_) torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
}

void FusedStep::step(std::size_t parameter, const at::Tensor& leaf) {
  if (!inputs_) return;
  const Span span(Phase::optimizer);
  const at::NoGradGuard no_gradients;
  at::Tensor& gradient = gradients_[parameter];
  gradient = std::move(leaf.mutable_grad());
  leaf.mutable_grad().reset();
  if (clip_value_ > 0) clip_by_value({&gradient, 1}, clip_value_);
  optimizer_.step(gradients_, *inputs_);
  gradient.reset();
}

}  // namespace trainlab

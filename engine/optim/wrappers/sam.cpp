// optim.SAM: sharpness-aware minimisation around any optimizer (Foret et al. 2021).
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>

#include <cmath>

#include "entries.h"
#include "kernels.h"
#include "parameters.h"

namespace trainlab {
namespace {

class Sam final : public Optimizer {
 public:
  Sam(std::span<const Options> specs, std::vector<OptimizedParameter> parameters, std::int64_t members)
      : set_(parameters, members) {
    refuse_average(specs.front(), "base");
    std::vector<Options> base;
    for (const Options& spec : specs) {
      base.push_back(spec.child("base"));
      rho_.push_back(spec.number("rho"));
    }
    base_ = make_optimizer(base, std::move(parameters), members);
    if (base_->evaluates_again())
      throw specs.front().error("base",
                                "expected an optimizer of one evaluation a step, found " + base.front().entry().name);
    for (std::size_t i = 0; i < set_.size(); ++i) saved_.push_back(at::empty_like(set_[i].parameter.value.detach()));
  }

  bool evaluates_again() const override { return true; }

  using Optimizer::step;
  void step(std::span<const at::Tensor> gradients, const StepInputs& inputs) override {
    if (!inputs.reevaluate)
      throw recipe_error(
          "optim.SAM evaluates the loss twice a step and needs a function that evaluates the loss, found none")
          .hint("it works in lab.fit");
    const at::NoGradGuard no_grad;
    set_.check_step(gradients, inputs);
    for (std::size_t i = 0; i < set_.size(); ++i) saved_[i].copy_(set_[i].parameter.value);
    climb(gradients, inputs.active);
    const Evaluation there = (*inputs.reevaluate)();
    for (std::size_t i = 0; i < set_.size(); ++i) set_[i].parameter.value.copy_(saved_[i]);
    base_->step(there.gradients, inputs);
  }

  std::vector<OptimizerTensor> state() override { return base_->state(); }

 private:
  // p ← p + rho·g / ‖g‖, the norm over all parameters of a row.
  void climb(std::span<const at::Tensor> gradients, std::span<const std::uint8_t> active) {
    std::vector<at::Tensor> plain(set_.size());
    for (std::size_t i = 0; i < set_.size(); ++i)
      if (gradients[i].defined()) plain[i] = set_.gradient(gradients, i);
    for (std::int64_t row = 0; row < set_.rows(); ++row) {
      if (!is_active(active, row) || set_.device().is_meta()) continue;
      if (!set_.device().is_cpu()) {
        climb_whole(plain, row);
        continue;
      }
      double squares = 0;
      each(plain, row, [&](auto*, const auto* g, std::int64_t n) { squares += sum_of_squares(g, n); });
      const double size = rho_[static_cast<std::size_t>(row)] / (std::sqrt(squares) + 1e-12);
      each(plain, row, [&](auto* p, const auto* g, std::int64_t n) { add_scaled(p, g, n, size); });
    }
    for (std::size_t i = 0; i < set_.size(); ++i) set_.changed(i);
  }

  // The climb of a row on another device than the CPU, without a synchronisation.
  void climb_whole(const std::vector<at::Tensor>& gradients, std::int64_t row) {
    const std::int64_t member = set_.members() ? row : -1;
    std::vector<at::Tensor> values, slices;
    for (std::size_t i = 0; i < set_.size(); ++i) {
      if (!gradients[i].defined()) continue;
      values.push_back(OptimizerSlot::slice(set_[i].parameter.value, member));
      slices.push_back(OptimizerSlot::slice(gradients[i], member));
    }
    if (values.empty()) return;
    std::vector<at::Tensor> norms = at::_foreach_norm(slices);
    for (at::Tensor& norm : norms) norm = norm.to(at::kDouble);
    const at::Tensor norm = at::linalg_vector_norm(at::stack(norms));
    const at::Tensor size = norm.add(1e-12).reciprocal_().mul_(rho_[static_cast<std::size_t>(row)]);
    for (std::size_t i = 0; i < values.size(); ++i) values[i].add_(slices[i] * size.to(slices[i].scalar_type()));
  }

  // Calls use(p, g, n) with the values of each parameter's slice in host memory.
  template <class Use>
  void each(const std::vector<at::Tensor>& gradients, std::int64_t row, Use&& use) {
    for (std::size_t i = 0; i < set_.size(); ++i) {
      if (!gradients[i].defined()) continue;
      const at::Tensor& value = set_[i].parameter.value;
      const std::int64_t n = value.numel() / set_.rows(), first = row * n;
      if (value.scalar_type() == at::kFloat) {
        use(value.mutable_data_ptr<float>() + first, gradients[i].const_data_ptr<float>() + first, n);
      } else {
        use(value.mutable_data_ptr<double>() + first, gradients[i].const_data_ptr<double>() + first, n);
      }
    }
  }

  ParameterSet set_;
  std::vector<double> rho_;        // by row
  std::vector<at::Tensor> saved_;  // values before the climb; no state
  std::unique_ptr<Optimizer> base_;
};

}  // namespace

void register_sam(Registry& registry) {
  registry.add(Entry("optim.SAM", "optimizer", "Sharpness-aware minimisation around any optimizer (Foret et al. 2021).")
                   .with(Option("base", "the optimizer that takes the step").entry("optimizer").required().positional())
                   .with(Option("rho", "distance of the second evaluation from the weights")
                             .number()
                             .more_than(0)
                             .or_default(0.05))
                   .example("optim.SAM { base = optim.SGD { lr = 0.1, momentum = 0.9 }, rho = 0.05 }")
                   .note("The base optimizer takes its step with the gradient at p + rho·g / ‖g‖ for the same batch "
                         "and the same random numbers: each step costs two evaluations. Clipping acts on both "
                         "gradients; running statistics of norms are updated once."),
               optimizer_kind<Sam>({}));
}

}  // namespace trainlab

// optim.LAMB: Adam's direction, scaled to the size of each tensor (You et al. 2020, algorithm 2).
#include <cmath>

#include "entries.h"
#include "kernels.h"
#include "set_optimizer.h"
#include "whole.h"

namespace trainlab {
namespace {

struct Settings {
  double beta1, beta2, eps;
  WeightDecay decay;

  explicit Settings(const Options& options)
      : beta1(options.numbers("betas")[0]),
        beta2(options.numbers("betas")[1]),
        eps(options.number("eps")),
        decay(options) {}
};

class Lamb final : public SetOptimizer {
 public:
  Lamb(std::span<const Options> specs, std::vector<OptimizedParameter> parameters, std::int64_t members)
      : SetOptimizer(specs, std::move(parameters), members, /*has_fused=*/false) {
    for (std::int64_t row = 0; row < set_.rows(); ++row)
      for (std::size_t i = 0; i < set_.size(); ++i) settings_.emplace_back(options_.options(row, i));
    set_.add_state("exp_avg");
    set_.add_state("exp_avg_sq");
    set_.add_steps(at::kCPU);
  }

 private:
  void step_slice(std::size_t i, std::int64_t row, const at::Tensor& gradient, const StepNumbers& now) override {
    if (gradient.is_meta()) return;  // a dry run: the CPU's loop takes no memory
    if (!gradient.is_cpu()) {
      const std::int64_t member = set_.members() ? row : -1;
      const auto slice_of = [member](const at::Tensor& tensor) { return OptimizerSlot::slice(tensor, member); };
      const OptimizerSlot& slot = set_[i];
      lamb_update(slice_of(slot.parameter.value), slice_of(gradient), slice_of(slot.state[0]), slice_of(slot.state[1]),
                  numbers_of(row, i, now), now.rate);
    } else if (gradient.scalar_type() == at::kFloat) {
      update<float>(i, row, gradient, now);
    } else {
      update<double>(i, row, gradient, now);
    }
  }

  LambSlice numbers_of(std::int64_t row, std::size_t i, const StepNumbers& now) const {
    const Settings& s = settings_[static_cast<std::size_t>(row) * set_.size() + i];
    const double beta = s.beta1 * now.momentum;
    return {.beta1 = beta,
            .beta2 = s.beta2,
            .eps = s.eps,
            .size = 1 / (1 - std::pow(beta, now.t)),
            .scale = 1 / std::sqrt(1 - std::pow(s.beta2, now.t)),
            .decay = s.decay.at(now)};
  }

  template <class T>
  void update(std::size_t i, std::int64_t row, const at::Tensor& gradient, const StepNumbers& now) {
    OptimizerSlot& slot = set_[i];
    const std::int64_t n = gradient.numel() / set_.rows(), first = row * n;
    T* const p = slot.parameter.value.mutable_data_ptr<T>() + first;
    T* const m = slot.state[0].mutable_data_ptr<T>() + first;
    T* const v = slot.state[1].mutable_data_ptr<T>() + first;
    const LambSlice slice = numbers_of(row, i, now);
    const SquaredNorms norms = lamb_moments(p, gradient.const_data_ptr<T>() + first, m, v, n, slice);
    const double trust =
        norms.values > 0 && norms.direction > 0 ? std::sqrt(norms.values) / std::sqrt(norms.direction) : 1;
    lamb_apply(p, m, v, n, slice, now.rate * trust);
  }

  std::vector<Settings> settings_;  // [row, parameter]
};

}  // namespace

void register_lamb(Registry& registry) {
  registry.add(
      with_groups(
          Entry("optim.LAMB", "optimizer", "Adam with a rate for each tensor, for large batches (You et al. 2020).")
              .with(rate_option(1e-3))
              .with(betas_option(0.9, 0.999))
              .with(eps_option(1e-6))
              .with(decoupled_option(0.0))
              .with(decay_option()))
          .example("optim.LAMB { lr = 2e-3, weight_decay = 0.01 }")
          .note("r = m̂ / (√v̂ + eps) + weight_decay·p; p ← p − lr·‖p‖ / ‖r‖·r, with the ratio 1 where a norm is 0. "
                "Algorithm 2 of the paper, with the norms as they are."),
      optimizer_kind<Lamb>({.largest = 0.03}));
}

}  // namespace trainlab

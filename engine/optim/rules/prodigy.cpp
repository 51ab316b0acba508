// optim.Prodigy: Adam that estimates its own rate (Mishchenko and Defazio 2024), the rule of the authors' prodigyopt.
//
// One estimate d holds for all parameters of a row: each step first goes through all gradients, then through all
// parameters. d and its sums are tensors of the device, so that a step does not wait for the device.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>

#include "entries.h"
#include "set_optimizer.h"

namespace trainlab {
namespace {

class Prodigy final : public Optimizer {
 public:
  Prodigy(std::span<const Options> specs, std::vector<OptimizedParameter> parameters, std::int64_t members)
      : options_(specs, parameters), set_(std::move(parameters), members) {
    for (const Options& spec : specs) settings_.emplace_back(spec);
    for (const char* name : {"exp_avg", "exp_avg_sq", "s", "p0"}) set_.add_state(name);
    set_.add_steps(at::kCPU);
    const auto type = at::device(set_.device()).dtype(at::kDouble);
    for (at::Tensor* number : {&d_, &numerator_, &count_})
      *number = members ? at::zeros({members}, type) : at::zeros({}, type);
    for (std::int64_t row = 0; row < set_.rows(); ++row) {
      for (std::size_t i = 0; i < set_.size(); ++i) {
        if (const double factor = options_.rate_factor(row, i); factor != 0 && factor != 1)
          throw specs[static_cast<std::size_t>(row)]
              .error("", "optim.Prodigy has one rate for all parameters, found " + number_text(factor) +
                             " times the rate for '" + set_[i].parameter.name + "'")
              .hint("lr = 0 in a group keeps its weights; other rates of groups and layer_decay have no place here");
        decays_.emplace_back(options_.options(row, i));
        eps_.push_back(options_.options(row, i).number("eps"));
      }
    }
  }

  using Optimizer::step;
  void step(std::span<const at::Tensor> gradients, const StepInputs& inputs) override {
    const at::NoGradGuard no_grad;
    set_.check_step(gradients, inputs);
    std::vector<at::Tensor> plain(set_.size());
    for (std::size_t i = 0; i < set_.size(); ++i)
      if (gradients[i].defined()) plain[i] = set_.gradient(gradients, i);
    for (std::int64_t row = 0; row < set_.rows(); ++row)
      if (is_active(inputs.active, row) && inputs.rates[static_cast<std::size_t>(row)] > 0)
        step_row(row, plain, inputs);
    for (std::size_t i = 0; i < set_.size(); ++i)
      if (gradients[i].defined()) set_.changed(i);
  }

  std::vector<OptimizerTensor> state() override {
    std::vector<OptimizerTensor> all = set_.state();
    const bool per_member = set_.members() > 0;
    all.push_back({"d", d_, per_member});
    all.push_back({"d_numerator", numerator_, per_member});
    all.push_back({"k", count_, per_member});
    return all;
  }

 private:
  struct Settings {
    double beta1, beta2, first, coefficient;
    bool corrects, safeguards;

    explicit Settings(const Options& options)
        : beta1(options.numbers("betas")[0]),
          beta2(options.numbers("betas")[1]),
          first(options.number("d0")),
          coefficient(options.number("d_coef")),
          corrects(options.boolean("use_bias_correction")),
          safeguards(options.boolean("safeguard_warmup")) {}
  };
  enum State : std::size_t { average, square, path, start };

  at::Tensor of_row(const at::Tensor& tensor, std::int64_t row) const {
    return OptimizerSlot::slice(tensor, set_.members() ? row : -1);
  }

  void step_row(std::int64_t row, std::span<const at::Tensor> gradients, const StepInputs& inputs) {
    const auto r = static_cast<std::size_t>(row);
    const Settings& s = settings_[r];
    const double beta1 = s.beta1 * (inputs.momentum.empty() ? 1 : inputs.momentum[r]), beta3 = std::sqrt(s.beta2);
    const at::Tensor stored = of_row(d_, row), numerator = of_row(numerator_, row), count = of_row(count_, row);
    const at::Tensor d = stored.clamp_min(s.first);  // before the first step 0 is stored
    at::Tensor rate = d.mul(inputs.rates[r]);
    if (s.corrects) {
      const at::Tensor k = count.add(1);
      rate = rate.mul(at::pow(s.beta2, k).neg().add(1).sqrt()).div(at::pow(beta1, k).neg().add(1));
    }
    const at::Tensor scaled = d.div(s.first);
    const at::Tensor for_average = d.mul(1 - beta1), for_square = d.square().mul(1 - s.beta2),
                     for_path = scaled.mul(s.safeguards ? d : rate);
    at::Tensor gained = at::zeros_like(d), length = at::zeros_like(d);
    for (std::size_t i = 0; i < set_.size(); ++i) {
      if (!steps(row, i, gradients)) continue;
      const at::Tensor g = of_row(gradients[i], row), p = value(row, i);
      if (++set_.step_count(row, i) == 1) state(row, i, start).copy_(p);
      gained.add_(g.mul(state(row, i, start).sub(p)).sum(at::kDouble));
      state(row, i, average).mul_(beta1).add_(g.mul(for_average));
      state(row, i, square).mul_(s.beta2).add_(g.square().mul_(for_square));
      length.add_(state(row, i, path).mul_(beta3).add_(g.mul(for_path)).abs().sum(at::kDouble));
    }

    // While all gradients have been 0 nothing changes, the count included.
    const at::Tensor moves = length.gt(0);
    const at::Tensor sum = numerator.mul(beta3).add(gained.mul(scaled).mul(rate));
    const at::Tensor estimate = sum.mul(s.coefficient).div(at::where(moves, length, at::ones_like(length)));
    numerator.copy_(at::where(moves, sum, numerator));
    count.add_(moves);
    stored.copy_(at::where(moves, at::maximum(d, estimate), d));
    rate = rate.mul(moves);
    for (std::size_t i = 0; i < set_.size(); ++i) {
      if (!steps(row, i, gradients)) continue;
      const std::size_t place = r * set_.size() + i;
      const StepNumbers now{.weight_decay = inputs.weight_decay.empty() ? 1 : inputs.weight_decay[r],
                            .decays = set_[i].parameter.decays};
      const at::Tensor p = value(row, i);
      if (const double decay = decays_[place].at(now); decay != 0) p.sub_(p.mul(rate.mul(decay)));
      const at::Tensor size = state(row, i, square).sqrt().add_(stored.mul(eps_[place]));
      p.sub_(state(row, i, average).div(size).mul_(rate));
    }
  }

  bool steps(std::int64_t row, std::size_t i, std::span<const at::Tensor> gradients) const {
    return gradients[i].defined() && options_.rate_factor(row, i) != 0;
  }
  at::Tensor value(std::int64_t row, std::size_t i) const { return of_row(set_[i].parameter.value, row); }
  at::Tensor state(std::int64_t row, std::size_t i, State which) const { return of_row(set_[i].state[which], row); }

  ParameterGroups options_;
  ParameterSet set_;
  std::vector<Settings> settings_;    // by row
  std::vector<WeightDecay> decays_;   // [row, parameter]
  std::vector<double> eps_;           // [row, parameter]
  at::Tensor d_, numerator_, count_;  // float64 [] or [members]
};

}  // namespace

void register_prodigy(Registry& registry) {
  registry.add(
      with_groups(Entry("optim.Prodigy", "optimizer", "Adam that finds its own rate (Mishchenko and Defazio 2024).")
                      .with(Option("lr", "factor of the rate that is found").number().at_least(0).or_default(1.0))
                      .with(Option("eps", "added to the denominator, times the estimate d")
                                .number()
                                .more_than(0)
                                .or_default(1e-8))
                      .with(Option("weight_decay", "weights shrink by d·lr·weight_decay at each step")
                                .number()
                                .at_least(0)
                                .or_default(0.0))
                      .with(decay_option()))
          .with(betas_option(0.9, 0.999))
          .with(Option("d0", "first estimate of the distance to the solution; 1e-5 or 1e-4 where d stays as it is")
                    .number()
                    .more_than(0)
                    .or_default(1e-6))
          .with(Option("d_coef", "factor of the estimates: the option to tune, in 0.5…2")
                    .number()
                    .more_than(0)
                    .or_default(1.0))
          .with(Option("use_bias_correction", "correct the rate for the start of the running means, as Adam does")
                    .boolean()
                    .or_default(false))
          .with(Option("safeguard_warmup", "leave the rate out of the estimate's denominator: for a linear warm-up")
                    .boolean()
                    .or_default(false))
          .example("optim.Prodigy { weight_decay = 0.01 }")
          .note(
              "m ← beta1·m + (1 − beta1)·d·g; v ← beta2·v + (1 − beta2)·d²·g²; p ← p·(1 − d·lr·weight_decay) − "
              "d·lr·m / (√v + d·eps). d is the largest so far of d_coef·Σ⟨g, p0 − p⟩ / ‖Σ g‖₁, where p0 are the "
              "weights at the start, the sums are weighted by d·lr and fade with √beta2. Keep lr at 1; a schedule may "
              "be constant or one cosine. A group may have lr = 0, which keeps its weights, and no other rate. The "
              "same rule and defaults as the authors' prodigyopt.Prodigy. State: 16 bytes for each weight."),
      optimizer_kind<Prodigy>({.largest = 1, .growth = RateGrowth::none}));
}

}  // namespace trainlab

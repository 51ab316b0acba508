// optim.Adamax, optim.NAdam and optim.RAdam: relatives of Adam, PyTorch's rules.
#include <cmath>

#include "entries.h"
#include "rule_optimizer.h"

namespace trainlab {
namespace {

// The common part of the three rules.
struct Family {
  double beta1, beta2, eps;
  WeightDecay decay;

  bool uses(std::size_t) const { return true; }
  bool counts_steps() const { return true; }

  explicit Family(const Options& options)
      : beta1(options.numbers("betas")[0]),
        beta2(options.numbers("betas")[1]),
        eps(options.number("eps")),
        decay(options) {}
};

struct AdamaxRule : Family {
  using Family::Family;
  static constexpr const char* states[] = {"exp_avg", "exp_inf"};

  AdamaxSlice numbers(const StepNumbers& now, std::span<double>) const {
    const double beta = beta1 * now.momentum;
    return {.decay = decay.at(now),
            .beta1 = beta,
            .beta2 = beta2,
            .eps = eps,
            .size = now.rate / (1 - std::pow(beta, now.t))};
  }
};

struct NAdamRule : Family {
  double momentum_decay;
  bool decoupled;

  static constexpr const char* states[] = {"exp_avg", "exp_avg_sq"};
  static constexpr const char* scalars[] = {"mu_product"};

  explicit NAdamRule(const Options& options)
      : Family(options),
        momentum_decay(options.number("momentum_decay")),
        decoupled(options.boolean("decoupled_weight_decay")) {}

  NAdamSlice numbers(const StepNumbers& now, std::span<double> kept) const {
    double& mu_product = kept[0];
    const double beta = beta1 * now.momentum;
    const double mu = beta * (1 - 0.5 * std::pow(0.96, now.t * momentum_decay));
    const double next = beta * (1 - 0.5 * std::pow(0.96, (now.t + 1) * momentum_decay));
    mu_product = (now.t == 1 ? 1 : mu_product) * mu;
    return {.shrink = decoupled ? 1 - now.rate * decay.at(now) : 1,
            .decay = decoupled ? 0 : decay.at(now),
            .beta1 = beta,
            .beta2 = beta2,
            .eps = eps,
            .scale = 1 / (1 - std::pow(beta2, now.t)),
            .of_gradient = now.rate * (1 - mu) / (1 - mu_product),
            .of_average = now.rate * next / (1 - mu_product * next)};
  }
};

struct RAdamRule : Family {
  bool decoupled;

  static constexpr const char* states[] = {"exp_avg", "exp_avg_sq"};

  explicit RAdamRule(const Options& options) : Family(options), decoupled(options.boolean("decoupled_weight_decay")) {}

  RAdamSlice numbers(const StepNumbers& now, std::span<double>) const {
    const double beta = beta1 * now.momentum, power = std::pow(beta2, now.t);
    const double longest = 2 / (1 - beta2) - 1, length = longest - 2 * now.t * power / (1 - power);
    const bool adapts = length > 5;
    double size = now.rate / (1 - std::pow(beta, now.t));
    if (adapts)
      size *= std::sqrt(1 - power) *
              std::sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length));
    return {.shrink = decoupled ? 1 - now.rate * decay.at(now) : 1,
            .decay = decoupled ? 0 : decay.at(now),
            .beta1 = beta,
            .beta2 = beta2,
            .eps = eps,
            .size = size,
            .adapts = adapts};
  }
};

Option decoupled_choice() {
  return Option("decoupled_weight_decay",
                "shrink the weights by lr·weight_decay, as AdamW does, instead of the penalty")
      .boolean()
      .or_default(false);
}

}  // namespace

void register_adam_family(Registry& registry) {
  registry.add(with_groups(Entry("optim.Adamax", "optimizer", "Adam with the infinity norm (Kingma and Ba 2015).")
                               .with(rate_option(2e-3))
                               .with(betas_option(0.9, 0.999))
                               .with(eps_option(1e-8))
                               .with(l2_option())
                               .with(decay_option()))
                   .example("optim.Adamax { lr = 2e-3 }")
                   .note("u ← max(beta2·u, |g| + eps); p ← p − lr / (1 − beta1^t)·m / u. The same rule and defaults as "
                         "PyTorch's torch.optim.Adamax."),
               optimizer_kind<RuleOptimizer<AdamaxRule>>({.largest = 0.01}));
  registry.add(with_groups(Entry("optim.NAdam", "optimizer", "Adam with Nesterov's momentum (Dozat 2016).")
                               .with(rate_option(2e-3))
                               .with(betas_option(0.9, 0.999))
                               .with(eps_option(1e-8))
                               .with(l2_option())
                               .with(Option("momentum_decay", "how fast the momentum rises to beta1")
                                         .number()
                                         .at_least(0)
                                         .or_default(4e-3))
                               .with(decoupled_choice())
                               .with(decay_option()))
                   .example("optim.NAdam { lr = 2e-3, weight_decay = 0.01, decoupled_weight_decay = true }")
                   .note("The momentum of step t is beta1·(1 − 0.96^(t·momentum_decay) / 2). The same rule and "
                         "defaults as PyTorch's torch.optim.NAdam."),
               optimizer_kind<RuleOptimizer<NAdamRule>>({.largest = 0.01}));
  registry.add(with_groups(Entry("optim.RAdam", "optimizer", "Adam with a rectified adaptive rate (Liu et al. 2020).")
                               .with(rate_option(1e-3))
                               .with(betas_option(0.9, 0.999))
                               .with(eps_option(1e-8))
                               .with(l2_option())
                               .with(decoupled_choice())
                               .with(decay_option()))
                   .example("optim.RAdam { lr = 1e-3 }")
                   .note("Plain momentum until the variance of the adaptive rate is tractable, then Adam's step times "
                         "the rectification: no warm-up is needed. The same rule and defaults as PyTorch's "
                         "torch.optim.RAdam."),
               optimizer_kind<RuleOptimizer<RAdamRule>>({.largest = 0.01}));
}

}  // namespace trainlab

// optim.Adagrad, optim.Adadelta and optim.RMSprop: rates divided by past gradients, PyTorch's rules.
#include "entries.h"
#include "rule_optimizer.h"

namespace trainlab {
namespace {

struct AdagradRule {
  double rate_decay, initial, eps;
  WeightDecay decay;

  static constexpr const char* states[] = {"sum"};
  bool uses(std::size_t) const { return true; }
  bool counts_steps() const { return true; }

  explicit AdagradRule(const Options& options)
      : rate_decay(options.number("lr_decay")),
        initial(options.number("initial_accumulator_value")),
        eps(options.number("eps")),
        decay(options) {}

  AdagradSlice numbers(const StepNumbers& now, std::span<double>) const {
    return {.rate = now.rate / (1 + (now.t - 1) * rate_decay),
            .decay = decay.at(now),
            .eps = eps,
            .initial = initial,
            .first = now.t == 1};
  }
};

struct AdadeltaRule {
  double rho, eps;
  WeightDecay decay;

  static constexpr const char* states[] = {"square_avg", "acc_delta"};
  bool uses(std::size_t) const { return true; }
  bool counts_steps() const { return false; }

  explicit AdadeltaRule(const Options& options)
      : rho(options.number("rho")), eps(options.number("eps")), decay(options) {}

  AdadeltaSlice numbers(const StepNumbers& now, std::span<double>) const {
    return {.rate = now.rate, .decay = decay.at(now), .rho = rho, .eps = eps};
  }
};

struct RmspropRule {
  double alpha, eps, momentum;
  WeightDecay decay;
  bool centered;

  static constexpr const char* states[] = {"square_avg", "momentum_buffer", "grad_avg"};
  bool uses(std::size_t state) const { return state == 0 || (state == 1 ? momentum != 0 : centered); }
  bool counts_steps() const { return false; }

  explicit RmspropRule(const Options& options)
      : alpha(options.number("alpha")),
        eps(options.number("eps")),
        momentum(options.number("momentum")),
        decay(options),
        centered(options.boolean("centered")) {}

  RmspropSlice numbers(const StepNumbers& now, std::span<double>) const {
    return {.rate = now.rate,
            .decay = decay.at(now),
            .alpha = alpha,
            .eps = eps,
            .momentum = momentum * now.momentum,
            .with_velocity = momentum != 0,
            .centered = centered};
  }
};

}  // namespace

void register_adagrad_family(Registry& registry) {
  registry.add(
      with_groups(Entry("optim.Adagrad", "optimizer",
                        "Divides the rate of each value by the root of the sum of its squared gradients (Duchi 2011).")
                      .with(rate_option(1e-2))
                      .with(Option("lr_decay", "fall of the rate: lr / (1 + (t − 1)·lr_decay)")
                                .number()
                                .at_least(0)
                                .or_default(0.0))
                      .with(l2_option())
                      .with(Option("initial_accumulator_value", "sum of squares at the start")
                                .number()
                                .at_least(0)
                                .or_default(0.0))
                      .with(eps_option(1e-10))
                      .with(decay_option()))
          .example("optim.Adagrad { lr = 0.05 }")
          .note("s ← s + g²; p ← p − lr·g / (√s + eps). The same rule and defaults as PyTorch's torch.optim.Adagrad."),
      optimizer_kind<RuleOptimizer<AdagradRule>>({.largest = 0.1}));
  registry.add(
      with_groups(Entry("optim.Adadelta", "optimizer",
                        "Scales each step by the size of past steps, so that the rate has no unit (Zeiler 2012).")
                      .with(rate_option(1.0))
                      .with(Option("rho", "share of the running means that is kept")
                                .number()
                                .at_least(0)
                                .at_most(1)
                                .or_default(0.9))
                      .with(eps_option(1e-6))
                      .with(l2_option())
                      .with(decay_option()))
          .example("optim.Adadelta { rho = 0.95 }")
          .note("v is the running mean of g², a that of squared steps d = √(a + eps) / √(v + eps)·g; p ← p − lr·d. The "
                "same rule and defaults as PyTorch's torch.optim.Adadelta."),
      optimizer_kind<RuleOptimizer<AdadeltaRule>>({.largest = 1}));
  registry.add(
      with_groups(Entry("optim.RMSprop", "optimizer",
                        "Divides the rate of each value by the root of its mean squared gradient (Hinton 2012).")
                      .with(rate_option(1e-2))
                      .with(Option("alpha", "share of the running mean that is kept")
                                .number()
                                .at_least(0)
                                .at_most(1)
                                .or_default(0.99))
                      .with(eps_option(1e-8))
                      .with(l2_option())
                      .with(Option("momentum", "share of the previous velocity that is kept")
                                .number()
                                .at_least(0)
                                .or_default(0.0))
                      .with(Option("centered", "divide by the deviation of the gradient instead of its size")
                                .boolean()
                                .or_default(false))
                      .with(decay_option()))
          .example("optim.RMSprop { lr = 1e-3, momentum = 0.9 }")
          .note("v is the running mean of g²; p ← p − lr·g / (√v + eps). The same rule and defaults as PyTorch's "
                "torch.optim.RMSprop."),
      optimizer_kind<RuleOptimizer<RmspropRule>>({.largest = 0.01}));
}

}  // namespace trainlab

// optim.Rprop, optim.ASGD and optim.Lion: steps by signs, and averaged descent.
#include <algorithm>
#include <cmath>

#include "entries.h"
#include "rule_optimizer.h"

namespace trainlab {
namespace {

struct RpropRule {
  double shrink, grow, smallest, largest;

  static constexpr const char* states[] = {"prev", "step_size"};
  bool uses(std::size_t) const { return true; }
  bool counts_steps() const { return true; }

  explicit RpropRule(const Options& options)
      : shrink(options.numbers("etas")[0]),
        grow(options.numbers("etas")[1]),
        smallest(options.numbers("step_sizes")[0]),
        largest(options.numbers("step_sizes")[1]) {
    if (!(shrink < 1 && grow > 1))
      throw options.error("etas", "expected a factor below 1, then one above 1, found " + number_text(shrink) +
                                      " and " + number_text(grow));
    if (smallest > largest)
      throw options.error("step_sizes", "expected the smallest step first, found " + number_text(smallest) + " and " +
                                            number_text(largest));
  }

  RpropSlice numbers(const StepNumbers& now, std::span<double>) const {
    return {.shrink = shrink,
            .grow = grow,
            .smallest = smallest,
            .largest = largest,
            .initial = now.rate,
            .first = now.t == 1};
  }
};

struct AsgdRule {
  double lambd, alpha, t0;
  WeightDecay decay;

  static constexpr const char* states[] = {"ax"};
  static constexpr const char* scalars[] = {"eta"};  // the rate of the coming step
  bool uses(std::size_t) const { return true; }
  bool counts_steps() const { return true; }

  explicit AsgdRule(const Options& options)
      : lambd(options.number("lambd")), alpha(options.number("alpha")), t0(options.number("t0")), decay(options) {}

  AsgdSlice numbers(const StepNumbers& now, std::span<double> kept) const {
    double& eta = kept[0];
    const double rate = now.t == 1 ? now.rate : eta;
    eta = now.rate / std::pow(1 + lambd * now.rate * now.t, alpha);
    return {.decay = decay.at(now),
            .shrink = 1 - lambd * rate,
            .eta = rate,
            .take = now.t == 1 ? 1 : 1 / std::max(1.0, now.t - 1 - t0)};
  }
};

struct LionRule {
  double beta1, beta2;
  WeightDecay decay;
  bool rounds;

  static constexpr const char* states[] = {"exp_avg"};
  static constexpr bool squares[] = {false};
  bool uses(std::size_t) const { return true; }
  bool counts_steps() const { return rounds; }  // each step rounds with random numbers of its own

  explicit LionRule(const Options& options)
      : beta1(options.numbers("betas")[0]),
        beta2(options.numbers("betas")[1]),
        decay(options),
        rounds(options.string("state") == "bfloat16") {}

  LionSlice numbers(const StepNumbers& now, std::span<double>) const {
    return {.shrink = 1 - now.rate * decay.at(now), .rate = now.rate, .beta1 = beta1 * now.momentum, .beta2 = beta2};
  }
};

}  // namespace

void register_sign_and_average(Registry& registry) {
  registry.add(
      with_groups(
          Entry("optim.Rprop", "optimizer", "A step size for each value, from the gradient's signs; for full batches.")
              .with(rate_option(1e-2))
              .with(Option("etas", "factors of a step size where the sign changes and where it stays")
                        .number()
                        .more_than(0)
                        .many(2)
                        .or_default(Value::List{0.5, 1.2}))
              .with(Option("step_sizes", "smallest and largest step")
                        .number()
                        .more_than(0)
                        .many(2)
                        .or_default(Value::List{1e-6, 50.0})))
          .example("optim.Rprop { lr = 1e-3 }")
          .note("The rate is the first step size of each value; a schedule has no effect after the first step. "
                "Riedmiller and Braun 1993; the same rule and defaults as PyTorch's torch.optim.Rprop."),
      optimizer_kind<RuleOptimizer<RpropRule>>({.largest = 0.1, .growth = RateGrowth::none}));
  registry.add(
      with_groups(Entry("optim.ASGD", "optimizer", "Averaged stochastic gradient descent (Polyak and Juditsky 1992).")
                      .with(rate_option(1e-2))
                      .with(Option("lambd", "decay of the weights, by lambd·rate at each step")
                                .number()
                                .at_least(0)
                                .or_default(1e-4))
                      .with(Option("alpha", "power with which the rate falls").number().at_least(0).or_default(0.75))
                      .with(Option("t0", "steps before the average begins").number().at_least(0).or_default(1e6))
                      .with(l2_option())
                      .with(decay_option()))
          .example("optim.ASGD { lr = 0.1, t0 = 1000 }")
          .note("The average is kept as state `ax` beside the weights. The same rule and defaults as PyTorch's "
                "torch.optim.ASGD. To validate with an average, use lab.ema or lab.swa."),
      optimizer_kind<RuleOptimizer<AsgdRule>>({.largest = 1, .growth = RateGrowth::fast}));
  registry.add(
      with_groups(Entry("optim.Lion", "optimizer",
                        "Steps by the sign of a momentum (Chen et al. 2023), with little state and small rates.")
                      .with(rate_option(1e-4))
                      .with(betas_option(
                          0.9, 0.99,
                          "share of the momentum in the direction of a step, and share of the momentum that is kept"))
                      .with(decoupled_option(0.0))
                      .with(decay_option())
                      .with(state_option()))
          .example("optim.Lion { lr = 1e-4, weight_decay = 0.1 }")
          .note("p ← p·(1 − lr·weight_decay) − lr·sign(beta1·m + (1 − beta1)·g); m ← beta2·m + (1 − beta2)·g. Symbolic "
                "Discovery of Optimization Algorithms, algorithm 2; rates are 3 to 10 times smaller than AdamW's. "
                "State for each weight: 4 bytes in float32, 2 with state = \"bfloat16\", 1.02 with state = \"8bit\"."),
      optimizer_kind<RuleOptimizer<LionRule>>({.largest = 1e-3}, /*takes_bfloat16=*/true));
}

}  // namespace trainlab

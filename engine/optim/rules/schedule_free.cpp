// optim.SGDScheduleFree and optim.AdamWScheduleFree: no schedule, an average of the weights instead (Defazio et al.
// 2024), in the numbers of the authors' package schedulefree 1.4.
//
// z takes the steps, x is the average of all z, and the trained weights y = beta·x + (1 − beta)·z lie between the two.
// Kept are y and z, from which x follows.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "entries.h"
#include "rule_optimizer.h"

namespace trainlab {
namespace {

struct ScheduleFreeRule {
  double beta;
  WeightDecay decay;

  static constexpr const char* scalars[] = {"lr_max", "weight_sum"};
  bool uses(std::size_t) const { return true; }
  bool counts_steps() const { return true; }

  ScheduleFreeRule(const Options& options, double its_beta) : beta(its_beta), decay(options) {}

  // The newest z has the share lr_max² in the average, where lr_max is the largest rate so far.
  ScheduleFreeSlice move(const StepNumbers& now, std::span<double> kept) const {
    double &largest = kept[0], &sum = kept[1];
    largest = std::max(largest, now.rate);
    sum += largest * largest;
    const double take = sum > 0 ? largest * largest / sum : 0;
    return {.rate = now.rate,
            .decay = decay.at(now),
            .take = take,
            .back = now.rate * (beta * (1 - take) - 1),
            .first = now.t == 1};
  }
};

struct SgdScheduleFreeRule : ScheduleFreeRule {
  static constexpr const char* states[] = {"z"};

  explicit SgdScheduleFreeRule(const Options& options) : ScheduleFreeRule(options, options.number("momentum")) {}

  ScheduleFreeSlice numbers(const StepNumbers& now, std::span<double> kept) const { return move(now, kept); }
};

struct AdamWScheduleFreeRule : ScheduleFreeRule {
  double beta2, eps;

  static constexpr const char* states[] = {"z", "exp_avg_sq"};

  explicit AdamWScheduleFreeRule(const Options& options)
      : ScheduleFreeRule(options, options.numbers("betas")[0]),
        beta2(options.numbers("betas")[1]),
        eps(options.number("eps")) {
    if (beta == 0) throw options.error("betas", "expected a first number above 0, found 0");
  }

  ScheduleFreeAdamSlice numbers(const StepNumbers& now, std::span<double> kept) const {
    return {.move = move(now, kept), .beta2 = beta2, .eps = eps, .scale = 1 / std::sqrt(1 - std::pow(beta2, now.t))};
  }
};

template <class Rule>
class ScheduleFree final : public RuleOptimizer<Rule> {
 public:
  using RuleOptimizer<Rule>::RuleOptimizer;

  // x = y + (1 − 1/beta)·(z − y).
  void averaged_weights(std::int64_t row, std::span<const at::Tensor> to) const override {
    const at::NoGradGuard no_grad;
    const auto& set = this->set_;
    const std::int64_t member = set.members() ? row : -1;
    for (std::size_t i = 0; i < set.size(); ++i) {
      const at::Tensor y = OptimizerSlot::slice(set[i].parameter.value, member);
      if (set.device().is_meta() || set.step_count(row, i) == 0) {
        to[i].copy_(y);
      } else {
        to[i].copy_(y + (OptimizerSlot::slice(set[i].state[0], member) - y).mul_(1 - 1 / this->rule(row, i).beta));
      }
    }
  }
};

template <class Rule>
OptimizerKind schedule_free_kind(UsualRates rates) {
  OptimizerKind kind = optimizer_kind<ScheduleFree<Rule>>(rates);
  kind.keeps_average = true;
  return kind;
}

constexpr const char* about_weights =
    " Validation, tests and kept weights take x, and checkpoints hold both. Running statistics of norms are those of "
    "the trained weights y. A schedule of the rate is possible and not needed, but for a warm-up: "
    "sched.linear { start = 0.01, finish = 1, over = \"500 steps\" }. Only for a lab.fit without a step of its own.";

}  // namespace

void register_schedule_free(Registry& registry) {
  registry.add(
      with_groups(Entry("optim.SGDScheduleFree", "optimizer",
                        "Descent with an average of the weights in place of a schedule (Defazio et al. 2024).")
                      .with(rate_option(1.0))
                      .with(Option("momentum", "share of the average in the weights at which gradients are taken")
                                .number()
                                .more_than(0)
                                .less_than(1)
                                .or_default(0.9))
                      .with(l2_option())
                      .with(decay_option()))
          .example("optim.SGDScheduleFree { lr = 1 }")
          .note(
              "z ← z − lr·(g + weight_decay·y) with the gradient g at y; x ← (1 − c)·x + c·z, where c is the share of "
              "lr_max² in the sum of all lr_max² so far; y = momentum·x + (1 − momentum)·z. Rates are 10 to 50 times "
              "those of SGD. The same rule and defaults as the authors' schedulefree.SGDScheduleFree. State: 4 bytes "
              "for each weight." +
              std::string(about_weights)),
      schedule_free_kind<SgdScheduleFreeRule>({.largest = 10, .growth = RateGrowth::fast}));
  registry.add(
      with_groups(
          Entry("optim.AdamWScheduleFree", "optimizer",
                "AdamW with an average of the weights in place of a schedule (Defazio et al. 2024).")
              .with(rate_option(2.5e-3))
              .with(betas_option(0.9, 0.999,
                                 "share of the average in the weights at which gradients are taken, and decay of the "
                                 "running mean of the gradient's square"))
              .with(eps_option(1e-8))
              .with(Option("weight_decay", "z shrinks by lr·weight_decay·y at each step")
                        .number()
                        .at_least(0)
                        .or_default(0.0))
              .with(decay_option()))
          .example("optim.AdamWScheduleFree { lr = 2.5e-3 }")
          .note("z ← z − lr·(g / (√v̂ + eps) + weight_decay·y) with the gradient g at y and v̂ as in Adam; x ← "
                "(1 − c)·x + c·z, where c is the share of lr_max² in the sum of all lr_max² so far; y = beta1·x + "
                "(1 − beta1)·z. Rates are 1 to 10 times those of AdamW. The same rule and defaults as the authors' "
                "schedulefree.AdamWScheduleFree. State: 8 bytes for each weight." +
                std::string(about_weights)),
      schedule_free_kind<AdamWScheduleFreeRule>({.largest = 0.03}));
}

}  // namespace trainlab

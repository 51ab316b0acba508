// optim.SGD: stochastic gradient descent with momentum, PyTorch's rule.
#include <ATen/ops/_fused_sgd.h>

#include <algorithm>

#include "entries.h"
#include "rule_optimizer.h"

namespace trainlab {
namespace {

struct SgdRule {
  double momentum, dampening;
  WeightDecay decay;
  bool nesterov;

  static constexpr const char* states[] = {"momentum_buffer"};
  bool uses(std::size_t) const { return momentum != 0; }
  bool counts_steps() const { return momentum != 0; }  // whether a buffer is still empty

  explicit SgdRule(const Options& options)
      : momentum(options.number("momentum")),
        dampening(options.number("dampening")),
        decay(options),
        nesterov(options.boolean("nesterov")) {
    if (nesterov && (momentum == 0 || dampening != 0))
      throw options.error("nesterov", "expected momentum > 0 and dampening = 0, found momentum = " +
                                          number_text(momentum) + " and dampening = " + number_text(dampening));
  }

  SgdSlice numbers(const StepNumbers& now, std::span<double>) const {
    const bool first = now.t == 1;
    const double keep = momentum * now.momentum;
    return {.rate = now.rate,
            .decay = decay.at(now),
            .keep = first ? 0 : keep,
            .take = first ? 1 : 1 - dampening,
            .look = nesterov ? 1.0 : 0.0,
            .use = nesterov ? keep : 1,
            .with_velocity = momentum != 0};
  }
};

class Sgd final : public RuleOptimizer<SgdRule> {
 public:
  Sgd(std::span<const Options> specs, std::vector<OptimizedParameter> parameters, std::int64_t members)
      : RuleOptimizer(specs, std::move(parameters), members, /*has_fused=*/true, at::kCPU) {}

  // The first step that is taken fills the buffers without dampening, and the host counts the steps: with dampening, it
  // must know of each step whether it is taken.
  bool takes_found_inf() const override {
    return RuleOptimizer::takes_found_inf() &&
           std::ranges::all_of(rules(), [](const SgdRule& rule) { return rule.dampening == 0; });
  }

 private:
  void step_fused(std::span<const at::Tensor> gradients, std::span<const std::size_t> indices, std::int64_t row,
                  const StepNumbers& now, const std::optional<at::Tensor>& found_inf) override {
    const SgdRule& s = rule(row, indices.front());
    const bool buffered = s.momentum != 0;
    // A parameter that first gets a gradient later than the others starts its buffer then.
    for (const bool first : {false, true}) {
      lists_.clear(buffered ? 1 : 0);
      for (const std::size_t i : indices) {
        if (!gradients[i].defined() || (buffered && set_.step_count(row, i) == 0) != first) continue;
        lists_.add(set_, gradients, row, i, false);
      }
      if (lists_.empty()) continue;
      at::_fused_sgd_(lists_.values, lists_.gradients, buffered ? at::TensorList(lists_.state[0]) : at::TensorList{},
                      s.decay.at(now), s.momentum * now.momentum, now.rate, s.dampening, s.nesterov,
                      /*maximize=*/false, first, {}, found_inf);
    }
    lists_.clear(0);
    if (!buffered) return;
    for (const std::size_t i : indices)
      if (gradients[i].defined()) ++set_.step_count(row, i);
  }

  FusedLists lists_;  // kept for its capacity; empty between steps
};

}  // namespace

void register_sgd(Registry& registry) {
  registry.add(
      with_groups(Entry("optim.SGD", "optimizer", "Stochastic gradient descent, with momentum or Nesterov's momentum.")
                      .with(rate_option(1e-3))
                      .with(Option("momentum", "share of the previous velocity that is kept")
                                .number()
                                .at_least(0)
                                .or_default(0.0))
                      .with(Option("dampening", "share of the gradient that does not enter the velocity")
                                .number()
                                .or_default(0.0))
                      .with(l2_option())
                      .with(Option("nesterov", "look ahead along the velocity; needs momentum and no dampening")
                                .boolean()
                                .or_default(false))
                      .with(decay_option()))
          .example("optim.SGD { lr = 0.1, momentum = 0.9, nesterov = true }")
          .note("v ← momentum·v + (1 − dampening)·g, on the first step v ← g; then p ← p − lr·v, with Nesterov "
                "p ← p − lr·(g + momentum·v). The same rule and defaults as PyTorch's torch.optim.SGD."),
      optimizer_kind<Sgd>({.largest = 1, .growth = RateGrowth::fast}, /*takes_bfloat16=*/true));
}

}  // namespace trainlab

// optim.Adam and optim.AdamW: adaptive moments (Kingma & Ba 2015; Loshchilov & Hutter 2019), PyTorch's rule.
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>

#include <algorithm>
#include <cmath>

#include "entries.h"
#include "rule_optimizer.h"

namespace trainlab {
namespace {

enum State : std::size_t { average, square, peak };

struct AdamRule {
  double beta1, beta2, eps;
  WeightDecay decay;
  bool amsgrad;

  static constexpr const char* states[] = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};
  static constexpr bool squares[] = {false, true, true};
  bool uses(std::size_t state) const { return state != peak || amsgrad; }
  bool counts_steps() const { return true; }

  explicit AdamRule(const Options& options)
      : beta1(options.numbers("betas")[0]),
        beta2(options.numbers("betas")[1]),
        eps(options.number("eps")),
        decay(options),
        amsgrad(options.boolean("amsgrad")),
        decoupled_(options.entry().name == "optim.AdamW") {}

  AdamSlice numbers(const StepNumbers& now, std::span<double>) const {
    const double beta = beta1 * now.momentum;
    return {.shrink = decoupled_ ? 1 - now.rate * decay.at(now) : 1,
            .decay = decoupled_ ? 0 : decay.at(now),
            .beta1 = beta,
            .beta2 = beta2,
            .eps = eps,
            .size = now.rate / (1 - std::pow(beta, now.t)),
            .scale = 1 / std::sqrt(1 - std::pow(beta2, now.t)),
            .with_peak = amsgrad};
  }

 private:
  bool decoupled_;
};

class Adam final : public RuleOptimizer<AdamRule> {
 public:
  Adam(std::span<const Options> specs, std::vector<OptimizedParameter> parameters, std::int64_t members, bool decoupled)
      : Adam(specs, parameters, members, decoupled,
             std::ranges::none_of(specs, wants_lean_state) && !has_rounded(parameters)) {}

 private:
  Adam(std::span<const Options> specs, std::vector<OptimizedParameter>& parameters, std::int64_t members,
       bool decoupled, bool has_fused)
      : RuleOptimizer(specs, parameters, members, has_fused,
                      has_fused && !parameters.empty() ? parameters.front().value.device() : at::Device(at::kCPU)),
        decoupled_(decoupled) {}

  void step_fused(std::span<const at::Tensor> gradients, std::span<const std::size_t> indices, std::int64_t row,
                  const StepNumbers& now, const std::optional<at::Tensor>& found_inf) override {
    const AdamRule& s = rule(row, indices.front());
    lists_.clear(s.amsgrad ? 3 : 2);
    for (const std::size_t i : indices) {
      if (!gradients[i].defined()) continue;
      lists_.add(set_, gradients, row, i, true);
      if (set_.device().is_cpu()) ++set_.step_count(row, i);
    }
    if (lists_.empty()) return;
    if (!set_.device().is_cpu()) at::_foreach_add_(lists_.steps, 1);
    const auto fused = decoupled_ ? static_cast<Fused*>(at::_fused_adamw_) : static_cast<Fused*>(at::_fused_adam_);
    fused(lists_.values, lists_.gradients, lists_.state[average], lists_.state[square],
          s.amsgrad ? at::TensorList(lists_.state[peak]) : at::TensorList{}, lists_.steps, now.rate,
          s.beta1 * now.momentum, s.beta2, s.decay.at(now), s.eps, s.amsgrad, /*maximize=*/false, {}, found_inf);
    // A step that is left out does not count.
    if (found_inf) at::_foreach_sub_(lists_.steps, std::vector<at::Tensor>(lists_.steps.size(), found_inf->squeeze(0)));
    lists_.clear(0);
  }

  using Fused = void(at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList,
                     double, double, double, double, double, bool, bool, const std::optional<at::Tensor>&,
                     const std::optional<at::Tensor>&);

  bool decoupled_;    // AdamW
  FusedLists lists_;  // kept for its capacity; empty between steps
};

Entry adam_entry(std::string name, std::string doc, double weight_decay, std::string decay_doc) {
  return Entry(std::move(name), "optimizer", std::move(doc))
      .with(rate_option(1e-3))
      .with(betas_option(0.9, 0.999))
      .with(eps_option(1e-8))
      .with(Option("weight_decay", std::move(decay_doc)).number().at_least(0).or_default(weight_decay))
      .with(Option("amsgrad", "divide by the largest running mean so far (Reddi et al. 2018)")
                .boolean()
                .or_default(false))
      .with(decay_option())
      .with(state_option());
}

OptimizerKind kind(bool decoupled) {
  return {.make =
              [decoupled](std::span<const Options> specs, std::vector<OptimizedParameter> parameters,
                          std::int64_t members) {
                return std::make_unique<Adam>(specs, std::move(parameters), members, decoupled);
              },
          .rates = {.largest = 0.01},
          .takes_bfloat16 = true};
}

}  // namespace

void register_adam(Registry& registry) {
  registry.add(
      with_groups(adam_entry("optim.Adam", "Adaptive moments (Kingma and Ba 2015).", 0.0,
                             "L2 penalty, added to the gradient; AdamW decays the weights themselves"))
          .example("optim.Adam { lr = 1e-3, betas = { 0.9, 0.98 } }")
          .note("m and v are the running means of g and g²; p ← p − lr·m̂ / (√v̂ + eps) with the bias corrections "
                "m̂ = m / (1 − beta1^t), v̂ = v / (1 − beta2^t). The same rule and defaults as PyTorch's "
                "torch.optim.Adam. State for each weight: 8 bytes in float32, 4 with state = \"bfloat16\", 2.03 with "
                "state = \"8bit\" (Dettmers et al. 2022)."),
      kind(false));
  registry.add(with_groups(adam_entry("optim.AdamW", "Adam with decoupled weight decay (Loshchilov and Hutter 2019).",
                                      0.01, "weights shrink by lr·weight_decay at each step"))
                   .example("optim.AdamW { lr = 3e-3, groups = { { params = \"*.bias\", weight_decay = 0 } } }")
                   .note("p ← p·(1 − lr·weight_decay), then Adam's step. The same rule and defaults as PyTorch's "
                         "torch.optim.AdamW. State for each weight: 8 bytes in float32, 4 with state = \"bfloat16\", "
                         "2.03 with state = \"8bit\" (Dettmers et al. 2022)."),
               kind(true));
}

}  // namespace trainlab

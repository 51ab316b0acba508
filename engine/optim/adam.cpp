// optim.Adam and optim.AdamW: adaptive moments (Kingma & Ba 2015; Loshchilov & Hutter 2019), PyTorch's rule.
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>

#include <algorithm>
#include <cmath>

#include "entries.h"
#include "kernels.h"
#include "set_optimizer.h"

namespace trainlab {
namespace {

enum State : std::size_t { average, square, peak };

struct Settings {
  double beta1, beta2, eps, weight_decay;
  bool amsgrad, decay_all;

  double decay(bool decays) const { return decays || decay_all ? weight_decay : 0; }
};

// Bias corrections of a row, kept because nearly all parameters of a row have made the same number of steps.
struct Corrections {
  float step = 0;
  double first = 1, second_root = 1;

  void at(float now, const Settings& s) {
    if (now == step) return;
    step = now;
    first = 1 - std::pow(s.beta1, now);
    second_root = std::sqrt(1 - std::pow(s.beta2, now));
  }
};

class Adam final : public SetOptimizer {
 public:
  Adam(std::span<const Options> specs, std::vector<OptimizedParameter> parameters, std::int64_t members, bool decoupled)
      : SetOptimizer(std::move(parameters), members), decoupled_(decoupled) {
    for (const Options& spec : specs) {
      const std::vector<double> betas = spec.numbers("betas");
      settings_.push_back({.beta1 = betas[0],
                           .beta2 = betas[1],
                           .eps = spec.number("eps"),
                           .weight_decay = spec.number("weight_decay"),
                           .amsgrad = spec.boolean("amsgrad"),
                           .decay_all = spec.boolean("decay_norms_and_biases")});
    }
    set_.add_state("exp_avg");
    set_.add_state("exp_avg_sq");
    if (std::ranges::any_of(settings_, &Settings::amsgrad)) set_.add_state("max_exp_avg_sq");
    set_.add_steps(set_.device());
    groups_ = set_.groups(std::ranges::any_of(settings_, [](const Settings& s) { return !s.decay_all; }));
  }

 private:
  void step_fused(std::span<const at::Tensor> gradients, double rate, std::int64_t row) override {
    const Settings& s = settings_[static_cast<std::size_t>(row)];
    for (const std::vector<std::size_t>& group : groups_) {
      lists_.clear(s.amsgrad ? 3 : 2);
      for (const std::size_t i : group) {
        if (!gradients[i].defined()) continue;
        lists_.add(set_, gradients, row, i, true);
        if (set_.device().is_cpu()) ++set_.step_count(row, i);
      }
      if (lists_.empty()) continue;
      if (!set_.device().is_cpu()) at::_foreach_add_(lists_.steps, 1);
      const auto fused = decoupled_ ? static_cast<Fused*>(at::_fused_adamw_) : static_cast<Fused*>(at::_fused_adam_);
      fused(lists_.values, lists_.gradients, lists_.state[average], lists_.state[square],
            s.amsgrad ? at::TensorList(lists_.state[peak]) : at::TensorList{}, lists_.steps, rate, s.beta1, s.beta2,
            s.decay(set_[group.front()].parameter.decays), s.eps, s.amsgrad, /*maximize=*/false, {}, {});
    }
    lists_.clear(0);
  }

  void step_stacked(std::span<const at::Tensor> gradients, std::span<const double> rates,
                    std::span<const std::uint8_t> active) override {
    corrections_.assign(settings_.size(), {});
    for (std::size_t i = 0; i < set_.size(); ++i) {
      if (!gradients[i].defined()) continue;
      const at::Tensor gradient = set_.gradient(gradients, i);
      if (gradient.scalar_type() == at::kFloat) {
        update<float>(i, gradient, rates, active);
      } else {
        update<double>(i, gradient, rates, active);
      }
      set_.changed(i);
    }
  }

  template <class T>
  void update(std::size_t i, const at::Tensor& gradient, std::span<const double> rates,
              std::span<const std::uint8_t> active) {
    OptimizerSlot& slot = set_[i];
    const std::int64_t n = gradient.numel() / set_.members();
    T* value = slot.parameter.value.mutable_data_ptr<T>();
    const T* g = gradient.const_data_ptr<T>();
    T* m = slot.state[average].mutable_data_ptr<T>();
    T* v = slot.state[square].mutable_data_ptr<T>();
    T* top = slot.state.size() > peak ? slot.state[peak].mutable_data_ptr<T>() : nullptr;
    for (std::int64_t row = 0; row < set_.members(); ++row) {
      if (!is_active(active, row)) continue;
      const Settings& s = settings_[static_cast<std::size_t>(row)];
      Corrections& correction = corrections_[static_cast<std::size_t>(row)];
      correction.at(++set_.step_count(row, i), s);
      const double rate = rates[static_cast<std::size_t>(row)];
      const double decay = s.decay(slot.parameter.decays);
      const AdamSlice slice{.shrink = decoupled_ ? 1 - rate * decay : 1,
                            .decay = decoupled_ ? 0 : decay,
                            .beta1 = s.beta1,
                            .beta2 = s.beta2,
                            .eps = s.eps,
                            .size = rate / correction.first,
                            .scale = 1 / correction.second_root};
      const std::int64_t at = row * n;
      if (s.amsgrad) {
        adam_update(value + at, g + at, m + at, v + at, top + at, n, slice);
      } else {
        adam_update(value + at, g + at, m + at, v + at, n, slice);
      }
    }
  }

  using Fused = void(at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList,
                     double, double, double, double, double, bool, bool, const std::optional<at::Tensor>&,
                     const std::optional<at::Tensor>&);

  bool decoupled_;                  // AdamW
  std::vector<Settings> settings_;  // per row
  std::vector<std::vector<std::size_t>> groups_;
  FusedLists lists_;                       // kept for its capacity; empty between steps
  std::vector<Corrections> corrections_;  // per row, within a step
};

Entry adam_entry(std::string name, std::string doc, double weight_decay, std::string decay_doc) {
  return Entry(std::move(name), "optimizer", std::move(doc))
      .with(Option("lr", "learning rate").number().at_least(0).or_default(1e-3))
      .with(Option("betas", "decay of the running means of the gradient and of its square")
                .number()
                .at_least(0)
                .less_than(1)
                .many(2)
                .or_default(Value::List{0.9, 0.999}))
      .with(Option("eps", "added to the denominator").number().at_least(0).or_default(1e-8))
      .with(Option("weight_decay", std::move(decay_doc)).number().at_least(0).or_default(weight_decay))
      .with(Option("amsgrad", "divide by the largest running mean so far (Reddi et al. 2018)")
                .boolean()
                .or_default(false))
      .with(decay_option());
}

OptimizerFactory factory(bool decoupled) {
  return [decoupled](std::span<const Options> specs, std::vector<OptimizedParameter> parameters, std::int64_t members) {
    return std::make_unique<Adam>(specs, std::move(parameters), members, decoupled);
  };
}

}  // namespace

void register_adam(Registry& registry) {
  registry.add(adam_entry("optim.Adam", "Adaptive moments (Kingma and Ba 2015).", 0.0,
                          "L2 penalty, added to the gradient; AdamW decays the weights themselves")
                   .example("optim.Adam { lr = 1e-3, betas = { 0.9, 0.98 } }")
                   .note("m and v are the running means of g and g²; p ← p − lr·m̂ / (√v̂ + eps) with the bias "
                         "corrections m̂ = m / (1 − beta1^t), v̂ = v / (1 − beta2^t). The same rule and defaults as "
                         "PyTorch's torch.optim.Adam."),
               factory(false));
  registry.add(adam_entry("optim.AdamW", "Adam with decoupled weight decay (Loshchilov and Hutter 2019).", 0.01,
                          "share of lr by which weights shrink at each step")
                   .example("optim.AdamW { lr = 3e-3, weight_decay = 0.05, decay_norms_and_biases = false }")
                   .note("p ← p·(1 − lr·weight_decay), then Adam's step. The same rule and defaults as PyTorch's "
                         "torch.optim.AdamW."),
               factory(true));
}

}  // namespace trainlab

// optim.SGD: stochastic gradient descent with momentum, PyTorch's rule.
#include <ATen/ops/_fused_sgd.h>

#include <algorithm>

#include "entries.h"
#include "kernels.h"
#include "set_optimizer.h"

namespace trainlab {
namespace {

struct Settings {
  double momentum, dampening, weight_decay;
  bool nesterov, decay_all;

  double decay(bool decays) const { return decays || decay_all ? weight_decay : 0; }
};

class Sgd final : public SetOptimizer {
 public:
  Sgd(std::span<const Options> specs, std::vector<OptimizedParameter> parameters, std::int64_t members)
      : SetOptimizer(std::move(parameters), members) {
    for (const Options& spec : specs) {
      const Settings s{.momentum = spec.number("momentum"),
                       .dampening = spec.number("dampening"),
                       .weight_decay = spec.number("weight_decay"),
                       .nesterov = spec.boolean("nesterov"),
                       .decay_all = spec.boolean("decay_norms_and_biases")};
      if (s.nesterov && (s.momentum == 0 || s.dampening != 0))
        throw spec.error("nesterov", "expected momentum > 0 and dampening = 0, found momentum = " +
                                         number_text(s.momentum) + " and dampening = " + number_text(s.dampening));
      has_buffers_ = has_buffers_ || s.momentum != 0;
      settings_.push_back(s);
    }
    if (has_buffers_) {
      set_.add_state("momentum_buffer");
      set_.add_steps(at::kCPU);  // only the host asks: whether a buffer is still empty
    }
    groups_ = set_.groups(std::ranges::any_of(settings_, [](const Settings& s) { return !s.decay_all; }));
  }

 private:
  void step_fused(std::span<const at::Tensor> gradients, double rate, std::int64_t row) override {
    const Settings& s = settings_[static_cast<std::size_t>(row)];
    const bool buffered = s.momentum != 0;
    for (const std::vector<std::size_t>& group : groups_) {
      // A parameter that first gets a gradient later than the others starts its buffer then.
      for (const bool first : {false, true}) {
        lists_.clear(buffered ? 1 : 0);
        for (const std::size_t i : group) {
          if (!gradients[i].defined() || (buffered && set_.step_count(row, i) == 0) != first) continue;
          lists_.add(set_, gradients, row, i, false);
        }
        if (lists_.empty()) continue;
        at::_fused_sgd_(lists_.values, lists_.gradients, buffered ? at::TensorList(lists_.state[0]) : at::TensorList{},
                        s.decay(set_[group.front()].parameter.decays), s.momentum, rate, s.dampening, s.nesterov,
                        /*maximize=*/false, first);
      }
      if (!buffered) continue;
      for (const std::size_t i : group)
        if (gradients[i].defined()) ++set_.step_count(row, i);
    }
    lists_.clear(0);
  }

  void step_stacked(std::span<const at::Tensor> gradients, std::span<const double> rates,
                    std::span<const std::uint8_t> active) override {
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
    T* buffer = has_buffers_ ? slot.state[0].mutable_data_ptr<T>() : nullptr;
    for (std::int64_t m = 0; m < set_.members(); ++m) {
      if (!is_active(active, m)) continue;
      const Settings& s = settings_[static_cast<std::size_t>(m)];
      const double decay = s.decay(slot.parameter.decays);
      const double rate = rates[static_cast<std::size_t>(m)];
      if (s.momentum == 0) {
        sgd_update(value + m * n, g + m * n, n, {.rate = rate, .decay = decay, .keep = 0, .take = 0, .look = 0, .use = 0});
      } else {
        const bool first = set_.step_count(m, i)++ == 0;
        sgd_update(value + m * n, g + m * n, buffer + m * n, n,
                   {.rate = rate,
                    .decay = decay,
                    .keep = first ? 0 : s.momentum,
                    .take = first ? 1 : 1 - s.dampening,
                    .look = s.nesterov ? 1.0 : 0.0,
                    .use = s.nesterov ? s.momentum : 1});
      }
    }
  }

  std::vector<Settings> settings_;  // per row
  std::vector<std::vector<std::size_t>> groups_;
  bool has_buffers_ = false;
  FusedLists lists_;  // kept for its capacity; empty between steps
};

std::unique_ptr<Optimizer> make_sgd(std::span<const Options> specs, std::vector<OptimizedParameter> parameters,
                                    std::int64_t members) {
  return std::make_unique<Sgd>(specs, std::move(parameters), members);
}

}  // namespace

void register_sgd(Registry& registry) {
  registry.add(
      Entry("optim.SGD", "optimizer", "Stochastic gradient descent, with momentum or Nesterov's momentum.")
          .with(Option("lr", "learning rate").number().at_least(0).or_default(1e-3))
          .with(Option("momentum", "share of the previous velocity that is kept").number().at_least(0).or_default(0.0))
          .with(Option("dampening", "share of the gradient that does not enter the velocity").number().or_default(0.0))
          .with(Option("weight_decay", "L2 penalty, added to the gradient").number().at_least(0).or_default(0.0))
          .with(Option("nesterov", "look ahead along the velocity; needs momentum and no dampening")
                    .boolean()
                    .or_default(false))
          .with(decay_option())
          .example("optim.SGD { lr = 0.1, momentum = 0.9, nesterov = true }")
          .note("v ← momentum·v + (1 − dampening)·g, on the first step v ← g; then p ← p − lr·v, with Nesterov "
                "p ← p − lr·(g + momentum·v). The same rule and defaults as PyTorch's torch.optim.SGD."),
      OptimizerFactory{make_sgd});
}

}  // namespace trainlab

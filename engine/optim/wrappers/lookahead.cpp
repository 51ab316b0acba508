// optim.Lookahead: slow weights that follow any optimizer's fast ones (Zhang et al. 2019).
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "entries.h"
#include "parameters.h"

namespace trainlab {
namespace {

class Lookahead final : public Optimizer {
 public:
  Lookahead(std::span<const Options> specs, std::vector<OptimizedParameter> parameters, std::int64_t members)
      : set_(parameters, members) {
    refuse_average(specs.front(), "base");
    std::vector<Options> base;
    for (const Options& spec : specs) {
      base.push_back(spec.child("base"));
      settings_.push_back({.every = static_cast<double>(spec.integer("k")), .alpha = spec.number("alpha")});
    }
    base_ = make_optimizer(base, std::move(parameters), members);
    set_.add_state("slow");
    set_.add_scalars("lookahead_step");
  }

  bool evaluates_again() const override { return base_->evaluates_again(); }

  using Optimizer::step;
  void step(std::span<const at::Tensor> gradients, const StepInputs& inputs) override {
    const at::NoGradGuard no_grad;
    set_.check_step(gradients, inputs);
    each(inputs, [&](std::int64_t row, std::size_t i, const Settings&) {
      if (set_.scalar(row, i)++ > 0) return;
      slow(row, i).copy_(fast(row, i));
    });
    base_->step(gradients, inputs);
    each(inputs, [&](std::int64_t row, std::size_t i, const Settings& s) {
      if (std::fmod(set_.scalar(row, i), s.every) != 0) return;
      // Not lerp_ and not add_ with a factor, which round in other ways on other machines.
      slow(row, i).add_(fast(row, i).sub(slow(row, i)).mul_(s.alpha));
      fast(row, i).copy_(slow(row, i));
    });
  }

  std::vector<OptimizerTensor> state() override {
    auto all = base_->state();
    for (auto& one : set_.state()) all.push_back(std::move(one));
    return all;
  }

 private:
  struct Settings {
    double every, alpha;
  };

  // Calls act(row, parameter, settings) for all parameters of active rows.
  template <class Act>
  void each(const StepInputs& inputs, Act&& act) {
    for (std::int64_t row = 0; row < set_.rows(); ++row) {
      if (!is_active(inputs.active, row)) continue;
      for (std::size_t i = 0; i < set_.size(); ++i) act(row, i, settings_[static_cast<std::size_t>(row)]);
    }
  }

  at::Tensor fast(std::int64_t row, std::size_t i) const { return slice(set_[i].parameter.value, row); }
  at::Tensor slow(std::int64_t row, std::size_t i) const { return slice(set_[i].state[0], row); }
  at::Tensor slice(const at::Tensor& tensor, std::int64_t row) const {
    return OptimizerSlot::slice(tensor, set_.members() ? row : -1);
  }

  ParameterSet set_;                // with the slow weights; the scalar counts steps
  std::vector<Settings> settings_;  // by row
  std::unique_ptr<Optimizer> base_;
};

}  // namespace

void register_lookahead(Registry& registry) {
  registry.add(
      Entry("optim.Lookahead", "optimizer", "Slow weights that follow any optimizer's fast ones (Zhang et al. 2019).")
          .with(Option("base", "the optimizer of the fast weights").entry("optimizer").required().positional())
          .with(Option("k", "number of steps of the fast weights between two steps of the slow weights")
                    .integer()
                    .at_least(1)
                    .or_default(5))
          .with(Option("alpha", "share of the way to the fast weights that the slow weights go")
                    .number()
                    .more_than(0)
                    .at_most(1)
                    .or_default(0.5))
          .example("optim.Lookahead { base = optim.AdamW { lr = 1e-3 }, k = 5 }")
          .note("Every k steps: slow ← slow + alpha·(fast − slow); fast ← slow. The base keeps its state."),
      optimizer_kind<Lookahead>({}));
}

}  // namespace trainlab

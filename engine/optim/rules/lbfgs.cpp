// optim.LBFGS: limited-memory quasi-Newton steps (Liu and Nocedal 1989), PyTorch's rule.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/concat.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

#include "entries.h"
#include "line_search.h"
#include "parameters.h"

namespace trainlab {
namespace {

double inner(const at::Tensor& a, const at::Tensor& b) { return at::dot(a, b).item<double>(); }
double largest(const at::Tensor& a) { return a.abs().max().item<double>(); }

class Lbfgs final : public Optimizer {
 public:
  Lbfgs(const Options& spec, std::vector<OptimizedParameter> parameters, std::int64_t members)
      : set_(std::move(parameters), members),
        iterations_(spec.integer("max_iter")),
        evaluations_(spec.given("max_eval") ? spec.integer("max_eval") : iterations_ * 5 / 4),
        history_(spec.integer("history_size")),
        tolerance_grad_(spec.number("tolerance_grad")),
        tolerance_change_(spec.number("tolerance_change")),
        searches_(spec.has("line_search_fn")) {
    if (members > 0)
      throw spec.error("", "optim.LBFGS steps one model at a time, found a group of " + std::to_string(members))
          .hint("its line search needs evaluations of its own for each member");
    std::int64_t n = 0;
    at::ScalarType dtype = at::kFloat;
    for (std::size_t i = 0; i < set_.size(); ++i) {
      const at::Tensor& value = set_[i].parameter.value;
      if (i > 0 && value.scalar_type() != set_[0].parameter.value.scalar_type())
        throw spec.error("", "optim.LBFGS takes parameters of one dtype; '" + set_[i].parameter.name + "' has another");
      n += value.numel();
      dtype = value.scalar_type();
    }
    const auto type = at::TensorOptions(dtype).device(set_.device());
    changes_ = at::zeros({history_, n}, type);
    moves_ = at::zeros({history_, n}, type);
    direction_ = at::zeros({n}, type);
    previous_ = at::zeros({n}, type);
    inverse_ = at::zeros({history_}, at::kDouble);
    numbers_ = at::zeros({number_count}, at::kDouble);
  }

  bool evaluates_again() const override { return true; }

  using Optimizer::step;
  void step(std::span<const at::Tensor> gradients, const StepInputs& inputs) override {
    if (!inputs.reevaluate || !inputs.loss.defined())
      throw recipe_error(
          "optim.LBFGS evaluates the loss several times a step and needs a function that does so, found none")
          .hint("it works in lab.fit");
    const at::NoGradGuard no_grad;
    set_.check_step(gradients, inputs);
    if (!is_active(inputs.active, 0) || set_.size() == 0) return;
    const Reevaluate& reevaluate = *inputs.reevaluate;
    const double rate = inputs.rates[0];

    double loss = inputs.loss.item<double>();
    at::Tensor g = flat(gradients);
    if (largest(g) <= tolerance_grad_) return;
    std::int64_t evaluated = 1;
    for (std::int64_t iteration = 1; iteration <= iterations_; ++iteration) {
      const bool first = ++number(n_iter) == 1;
      if (first) {
        direction_.copy_(g.neg());
        number(scale) = 1;
      } else {
        learn(g);
        direction_.copy_(newton_direction(g));
      }
      previous_.copy_(g);
      const double before = loss;
      number(length) = first ? std::min(1.0, 1 / g.abs().sum().item<double>()) * rate : rate;
      const double slope = inner(g, direction_);
      if (slope > -tolerance_change_) break;

      if (searches_) {
        const LinePoint found = search(reevaluate, {.t = 0, .value = loss, .gradient = g, .slope = slope}, evaluated);
        number(length) = found.t;
        loss = found.value;
        g = found.gradient;
        move(found.t);
      } else {
        move(number(length));
        if (iteration != iterations_) {  // the next step evaluates anyway, on its own batch
          const Evaluation there = reevaluate();
          loss = there.loss.item<double>();
          g = flat(there.gradients);
          ++evaluated;
        }
      }
      if (iteration == iterations_ || evaluated >= evaluations_ || largest(g) <= tolerance_grad_) break;
      if (largest(direction_) * number(length) <= tolerance_change_ || std::abs(loss - before) < tolerance_change_)
        break;
    }
  }

  std::vector<OptimizerTensor> state() override {
    return {{"old_dirs", changes_}, {"old_stps", moves_},     {"ro", inverse_},
            {"d", direction_},      {"prev_grad", previous_}, {"step", numbers_}};
  }

 private:
  // The contents of numbers_: iterations so far, pairs in the history and the place of the oldest, the latest length,
  // the scale of the initial inverse Hessian.
  enum Number : std::int64_t { n_iter, pairs, oldest, length, scale, number_count };
  double& number(Number which) { return numbers_.mutable_data_ptr<double>()[which]; }

  at::Tensor flat(std::span<const at::Tensor> gradients) const {
    std::vector<at::Tensor> parts;
    for (std::size_t i = 0; i < set_.size(); ++i) {
      const at::Tensor& value = set_[i].parameter.value;
      parts.push_back(gradients[i].defined() ? set_.gradient(gradients, i).reshape({-1})
                                             : at::zeros({value.numel()}, value.options()));
    }
    return at::concat(parts);
  }

  // The row of the history's pair k, the oldest first.
  std::int64_t place(std::int64_t k) { return (static_cast<std::int64_t>(number(oldest)) + k) % history_; }

  // Takes the latest change of the gradient into the history.
  void learn(const at::Tensor& g) {
    const at::Tensor change = g.sub(previous_), moved = direction_.mul(number(length));
    const double product = inner(change, moved);
    if (!(product > 1e-10)) return;
    if (static_cast<std::int64_t>(number(pairs)) == history_) {
      number(oldest) = static_cast<double>(place(1));
    } else {
      ++number(pairs);
    }
    const std::int64_t at = place(static_cast<std::int64_t>(number(pairs)) - 1);
    changes_[at].copy_(change);
    moves_[at].copy_(moved);
    inverse_.mutable_data_ptr<double>()[at] = 1 / product;
    number(scale) = product / inner(change, change);
  }

  // The two-loop recursion: minus the approximate inverse Hessian times g.
  at::Tensor newton_direction(const at::Tensor& g) {
    const auto count = static_cast<std::int64_t>(number(pairs));
    const double* inverse = inverse_.const_data_ptr<double>();
    std::vector<double> shares(static_cast<std::size_t>(count));
    at::Tensor q = g.neg();
    for (std::int64_t k = count - 1; k >= 0; --k) {
      const double share = inner(moves_[place(k)], q) * inverse[place(k)];
      shares[static_cast<std::size_t>(k)] = share;
      q.add_(changes_[place(k)], -share);
    }
    q.mul_(number(scale));
    for (std::int64_t k = 0; k < count; ++k)
      q.add_(moves_[place(k)], shares[static_cast<std::size_t>(k)] - inner(changes_[place(k)], q) * inverse[place(k)]);
    return q;
  }

  LinePoint search(const Reevaluate& reevaluate, const LinePoint& start, std::int64_t& evaluated) {
    std::vector<at::Tensor> origin;
    for (std::size_t i = 0; i < set_.size(); ++i) origin.push_back(set_[i].parameter.value.clone());
    const auto evaluate = [&](double t) {
      move(t);
      const Evaluation there = reevaluate();
      LinePoint point{.t = t, .value = there.loss.item<double>(), .gradient = flat(there.gradients), .slope = 0};
      point.slope = inner(point.gradient, direction_);
      for (std::size_t i = 0; i < set_.size(); ++i) set_[i].parameter.value.copy_(origin[i]);
      return point;
    };
    std::int64_t count = 0;
    LinePoint found = strong_wolfe(evaluate, start, number(length), largest(direction_), tolerance_change_,
                                   evaluations_ - evaluated, count);
    evaluated += count;
    return found;
  }

  // p ← p + t·d.
  void move(double t) {
    std::int64_t first = 0;
    for (std::size_t i = 0; i < set_.size(); ++i) {
      const at::Tensor& value = set_[i].parameter.value;
      value.add_(direction_.narrow(0, first, value.numel()).view_as(value), t);
      first += value.numel();
    }
  }

  ParameterSet set_;
  std::int64_t iterations_, evaluations_, history_;
  double tolerance_grad_, tolerance_change_;
  bool searches_;

  at::Tensor changes_, moves_, inverse_;  // the history: y, s and 1 / yᵀs
  at::Tensor direction_, previous_, numbers_;
};

}  // namespace

void register_lbfgs(Registry& registry) {
  registry.add(
      Entry("optim.LBFGS", "optimizer", "Limited-memory quasi-Newton steps (Liu and Nocedal 1989); for full batches.")
          .with(rate_option(1.0))
          .with(Option("max_iter", "largest number of iterations within a step").integer().at_least(1).or_default(20))
          .with(Option("max_eval", "largest number of evaluations within a step (default: 5/4 of max_iter)")
                    .integer()
                    .at_least(1))
          .with(Option("tolerance_grad", "the step ends when no gradient is larger than this")
                    .number()
                    .at_least(0)
                    .or_default(1e-7))
          .with(Option("tolerance_change", "the step ends when weights or loss change by less than this")
                    .number()
                    .at_least(0)
                    .or_default(1e-9))
          .with(Option("history_size",
                       "number of pairs of changes that are kept; a pair is twice as large as the weights")
                    .integer()
                    .at_least(1)
                    .or_default(100))
          .with(Option("line_search_fn", "search for a step length that satisfies the strong Wolfe conditions")
                    .choice({"strong_wolfe"}))
          .example("optim.LBFGS { lr = 1, history_size = 10, line_search_fn = \"strong_wolfe\" }")
          .note("A step evaluates its batch up to max_eval times. The same rule and defaults as PyTorch's "
                "torch.optim.LBFGS."),
      OptimizerKind{.make = [](std::span<const Options> specs, std::vector<OptimizedParameter> parameters,
                               std::int64_t members) -> std::unique_ptr<Optimizer> {
                      return std::make_unique<Lbfgs>(specs.front(), std::move(parameters), members);
                    },
                    .stackable = false,
                    .rates = {.largest = 1, .growth = RateGrowth::none, .search = "line_search_fn"}});
}

}  // namespace trainlab

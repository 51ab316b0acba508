// Losses of numbers against numbers, mean over the values of a sample and over samples.
#include <ATen/core/Reduction.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/huber_loss.h>
#include <ATen/ops/l1_loss.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/poisson_nll_loss.h>
#include <ATen/ops/smooth_l1_loss.h>

#include <numbers>

#include "mean.h"
#include "objective/head.h"
#include "objective/losses.h"

namespace trainlab {

namespace {

// out, target in one shape → the loss of each value, or with Reduction::Mean their mean.
using Elementwise = std::function<at::Tensor(const at::Tensor& out, const at::Tensor& target, std::int64_t reduction)>;

class ElementLoss final : public Loss {
 public:
  ElementLoss(const Head& head, Elementwise loss)
      : target_column_(head.target_column), loss_(std::move(loss)), mean_(head) {}

  LossValue operator()(const at::Tensor& out, const BatchView& batch) const override {
    const at::Tensor wanted = target_like(out, batch.columns[target_column_]);
    if (mean_.plain(batch)) return {{loss_(out, wanted, at::Reduction::Mean), {}}};
    return mean_(loss_(out, wanted, at::Reduction::None), batch);
  }

 private:
  std::size_t target_column_;
  Elementwise loss_;
  SampleMean mean_;
};

LossKind elementwise(bool is_never_negative, std::function<Elementwise(const Options&)> make) {
  return {.make = [make = std::move(make)](const Options& options, const Head& y_head) -> std::unique_ptr<Loss> {
            const Head head = with_target(options, y_head);
            require_regression(options, head);
            return std::make_unique<ElementLoss>(head, make(options));
          },
          .is_never_negative = is_never_negative};
}

// The constant for each column of targets [n, outputs] that has the least mean loss, as [1, outputs]. The loss is
// convex and least where both of its numbers are equal: each round leaves out the third of the range that cannot have
// it.
at::Tensor best_constant(const Elementwise& loss, const at::Tensor& targets) {
  constexpr int rounds = 40;
  auto [low, high] = targets.aminmax(0, /*keepdim=*/true);
  for (int round = 0; round < rounds; ++round) {
    const at::Tensor third = high.sub(low).div(3), left = low.add(third), right = high.sub(third);
    const auto mean = [&](const at::Tensor& constant) {
      return loss(constant.expand_as(targets), targets, at::Reduction::None).mean(0, /*keepdim=*/true);
    };
    const at::Tensor is_left = mean(left).lt(mean(right));
    low = low.where(is_left, left);
    high = right.where(is_left, high);
  }
  return low.add(high).div(2);
}

// A loss of numbers that is convex in the output, and least where output and target are equal.
LossKind distance(std::function<Elementwise(const Options&)> make) {
  LossKind kind = elementwise(true, make);
  kind.constant_losses = [make = std::move(make)](const Options& options, std::span<const at::Tensor> targets) {
    const Elementwise loss = make(options);
    const at::Tensor constant = best_constant(loss, targets.front());
    std::vector<double> losses;
    for (const at::Tensor& one : targets)
      losses.push_back(loss(constant.expand_as(one), one, at::Reduction::Mean).item<double>());
    return losses;
  };
  return kind;
}

// Nix and Weigend, "Estimating the mean and variance of the target probability distribution" (1994), as PyTorch has it,
// with the logarithm of the variance as the model's second half.
class GaussianNll final : public Loss {
 public:
  GaussianNll(const Head& head, bool full, double eps)
      : target_column_(head.target_column), full_(full), eps_(eps), mean_(head) {}

  LossValue operator()(const at::Tensor& out, const BatchView& batch) const override {
    const std::int64_t values = out.size(-1) / 2;
    const at::Tensor guess = out.narrow(-1, 0, values);
    const at::Tensor wanted = target_like(guess, batch.columns[target_column_]);
    // The bound is no part of the gradient, as in PyTorch, so that a variance below the bound can grow again.
    const at::Tensor variance = out.narrow(-1, values, values).exp().clone();
    {
      const at::NoGradGuard no_grad;
      variance.clamp_min_(eps_);
    }
    const at::Tensor each = variance.log().add(guess.sub(wanted).square().div(variance)).mul(0.5);
    return mean_(full_ ? each.add(0.5 * std::log(2 * std::numbers::pi)) : each, batch);
  }

 private:
  std::size_t target_column_;
  bool full_;
  double eps_;
  SampleMean mean_;
};

std::unique_ptr<Loss> make_gaussian(const Options& options, const Head& y_head) {
  const Head head = with_target(options, y_head);
  const std::int64_t values = element_count(head.target);
  if (head.classes > 0 || head.target.size() > 1 || head.output != Shape{2 * values}) {
    throw head_error(options, "twice as many outputs as the target has numbers: means, then logarithms of variances",
                     head, "end the model with nn.Linear(" + std::to_string(2 * values) + ")");
  }
  return std::make_unique<GaussianNll>(head, options.boolean("full"), options.number("eps"));
}

}  // namespace

void register_loss_regression(Registry& registry) {
  registry.add(loss_entry("mse", "Mean squared error.")
                   .example("loss.mse()")
                   .note("Equals torch.nn.MSELoss with reduction \"mean\": the mean over samples and outputs."),
               distance([](const Options&) -> Elementwise {
                 return [](const auto& a, const auto& b, auto reduction) { return at::mse_loss(a, b, reduction); };
               }));
  registry.add(loss_entry("l1", "Mean absolute error.").example("loss.l1()").note("Equals torch.nn.L1Loss."),
               distance([](const Options&) -> Elementwise {
                 return [](const auto& a, const auto& b, auto reduction) { return at::l1_loss(a, b, reduction); };
               }));
  registry.add(
      loss_entry("huber", "Huber's loss: squared for small errors, linear for large ones.")
          .with(Option("delta", "error at which the loss becomes linear").number().more_than(0).or_default(1.0))
          .example("loss.huber { delta = 0.5 }")
          .note("Equals torch.nn.HuberLoss with reduction \"mean\": e²/2 up to delta, delta · (|e| − delta/2) beyond."),
      distance([](const Options& options) -> Elementwise {
        return [delta = options.number("delta")](const auto& a, const auto& b, auto reduction) {
          return at::huber_loss(a, b, reduction, delta);
        };
      }));
  registry.add(loss_entry("smooth_l1", "Huber's loss divided by its beta, so that its slope is 1 for large errors.")
                   .with(Option("beta", "error at which the loss becomes linear").number().more_than(0).or_default(1.0))
                   .example("loss.smooth_l1 { beta = 0.1 }")
                   .note("Equals torch.nn.SmoothL1Loss: e²/(2 beta) up to beta, |e| − beta/2 beyond."),
               distance([](const Options& options) -> Elementwise {
                 return [beta = options.number("beta")](const auto& a, const auto& b, auto reduction) {
                   return at::smooth_l1_loss(a, b, reduction, beta);
                 };
               }));
  registry.add(
      loss_entry("poisson_nll", "Negative log-likelihood of counts under Poisson distributions.")
          .with(Option("log_input", "true: the output is the logarithm of the rate; false: the output is the rate")
                    .boolean()
                    .or_default(true))
          .with(Option("full", "add Stirling's term for log y! of counts above 1").boolean().or_default(false))
          .with(Option("eps", "added to rates before their logarithm").number().more_than(0).or_default(1e-8))
          .example("loss.poisson_nll()")
          .note("Equals torch.nn.PoissonNLLLoss: exp(x) − y x, or x − y log(x + eps)."),
      elementwise(false, [](const Options& options) -> Elementwise {
        return [log = options.boolean("log_input"), full = options.boolean("full"), eps = options.number("eps")](
                   const auto& a, const auto& b, auto reduction) {
          return at::poisson_nll_loss(a, b, log, full, eps, reduction);
        };
      }));
  registry.add(loss_entry("gaussian_nll", "Negative log-likelihood of numbers under normal distributions.")
                   .with(Option("full", "add the constant log(2π)/2").boolean().or_default(false))
                   .with(Option("eps", "smallest variance: a smaller variance counts as this one")
                             .number()
                             .more_than(0)
                             .or_default(1e-6))
                   .example("loss.gaussian_nll()")
                   .note("For targets of k numbers the model gives 2k: k means, then k logarithms of variances. Equals "
                         "torch.nn.GaussianNLLLoss of these, (log v + (x − y)²/v) / 2."),
               LossKind{.make = make_gaussian});
}

}  // namespace trainlab

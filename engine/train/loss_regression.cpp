// Losses of numbers against numbers: mean squared error and Huber's.
#include <ATen/core/Reduction.h>
#include <ATen/ops/huber_loss.h>
#include <ATen/ops/mse_loss.h>

#include "head.h"
#include "losses.h"

namespace trainlab {

namespace {

// Means over all values of a sample and over the batch, as PyTorch's.
template <class F>
LossValue mean_of(const at::Tensor& out, const at::Tensor& target, std::int64_t members, const F& loss) {
  const at::Tensor wanted = target_like(out, target);
  if (members == 0) return {loss(out, wanted, at::Reduction::Mean), {}};
  return {loss(out, wanted, at::Reduction::None).flatten(1).mean(1), {}};
}

class MeanSquaredError final : public Loss {
 public:
  LossValue operator()(const at::Tensor& out, const at::Tensor& target, std::int64_t members) const override {
    return mean_of(out, target, members,
                   [](const auto& a, const auto& b, auto reduction) { return at::mse_loss(a, b, reduction); });
  }
};

class Huber final : public Loss {
 public:
  explicit Huber(double delta) : delta_(delta) {}
  LossValue operator()(const at::Tensor& out, const at::Tensor& target, std::int64_t members) const override {
    return mean_of(out, target, members, [this](const auto& a, const auto& b, auto reduction) {
      return at::huber_loss(a, b, reduction, delta_);
    });
  }

 private:
  double delta_;
};

}  // namespace

void register_regression_losses(Registry& registry) {
  registry.add(Entry("loss.mse", "loss", "Mean squared error.")
                   .example("loss.mse()")
                   .note("Equals torch.nn.MSELoss with reduction \"mean\": the mean over samples and outputs."),
               LossFactory{[](const Options& options, const Head& head) -> std::unique_ptr<Loss> {
                 require_regression(options, head);
                 return std::make_unique<MeanSquaredError>();
               }});
  registry.add(
      Entry("loss.huber", "loss", "Huber's loss: squared for small errors, linear for large ones.")
          .with(Option("delta", "error at which the loss becomes linear").number().more_than(0).or_default(1.0))
          .example("loss.huber { delta = 0.5 }")
          .note("Equals torch.nn.HuberLoss with reduction \"mean\": e²/2 up to delta, delta · (|e| − delta/2) beyond."),
      LossFactory{[](const Options& options, const Head& head) -> std::unique_ptr<Loss> {
        require_regression(options, head);
        return std::make_unique<Huber>(options.number("delta"));
      }});
}

}  // namespace trainlab

// optim.SOAP: Adam in the eigenbases of Shampoo's preconditioner (Vyas et al. 2024), the rule of the authors' code.
//
// The running mean of the gradient is kept in the weights' own axes, and turned with the gradient; the authors turn the
// stored mean at each refresh, which is the same.
#include <ATen/ops/linalg_eigh.h>
#include <ATen/ops/linalg_qr.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/tensordot.h>

#include <cmath>

#include "entries.h"
#include "set_optimizer.h"

namespace trainlab {
namespace {

// A mean square below this share of the largest one is rounding: the gradient has nothing in this direction, and Adam
// would make full steps of the noise.
constexpr double noise = 1e-12;

struct SoapSettings {
  double beta1, beta2, eps;
  WeightDecay decay;
  std::int64_t every, largest;

  explicit SoapSettings(const Options& options)
      : beta1(options.numbers("betas")[0]),
        beta2(options.numbers("betas")[1]),
        eps(options.number("eps")),
        decay(options),
        every(options.integer("precondition_frequency")),
        largest(options.integer("max_precond_dim")) {}
};

class Soap final : public SetOptimizer {
 public:
  Soap(std::span<const Options> specs, std::vector<OptimizedParameter> parameters, std::int64_t members)
      : SetOptimizer(specs, std::move(parameters), members, /*has_fused=*/false) {
    for (std::int64_t row = 0; row < set_.rows(); ++row)
      for (std::size_t i = 0; i < set_.size(); ++i) settings_.emplace_back(options_.options(row, i));
    set_.add_state("exp_avg");
    set_.add_state("exp_avg_sq");
    for (std::size_t i = 0; i < set_.size(); ++i) {
      const at::Tensor& value = set_[i].parameter.value;
      const std::vector<std::int64_t> shape = value.sizes().slice(members ? 1 : 0).vec();
      axes_.emplace_back();
      for (std::size_t axis = 0; shape.size() > 1 && axis < shape.size(); ++axis) {
        bool is_turned = false;
        for (std::int64_t row = 0; row < set_.rows(); ++row) is_turned |= shape[axis] <= settings(row, i).largest;
        if (!is_turned) continue;
        axes_.back().push_back(static_cast<std::int64_t>(axis));
        for (const char* name : {"GG.", "Q."})
          set_.add_state(i, name + std::to_string(axis), {shape[axis], shape[axis]}, value.scalar_type());
      }
    }
    set_.add_steps(at::kCPU);
  }

 private:
  // The running mean of G·Gᵀ along an axis, and its eigenvectors.
  struct Preconditioner {
    std::int64_t axis;
    at::Tensor products, basis;
  };

  const SoapSettings& settings(std::int64_t row, std::size_t i) const {
    return settings_[static_cast<std::size_t>(row) * set_.size() + i];
  }

  at::Tensor of_row(const at::Tensor& tensor, std::int64_t row) const {
    return OptimizerSlot::slice(tensor, set_.members() ? row : -1);
  }

  // Into the eigenbases, or back: axis after axis is taken from the front, turned, and put to the end.
  static at::Tensor turned(at::Tensor x, const std::vector<Preconditioner>& all, bool back) {
    const std::int64_t first = 0, side = back ? 1 : 0;
    auto next = all.begin();
    for (std::int64_t axis = 0, axes = x.dim(); axis < axes; ++axis) {
      if (next != all.end() && next->axis == axis) {
        x = at::tensordot(x, next++->basis, at::IntArrayRef(first), at::IntArrayRef(side));
      } else {
        x = x.movedim(0, -1);
      }
    }
    return x;
  }

  void step_slice(std::size_t i, std::int64_t row, const at::Tensor& gradient, const StepNumbers& now) override {
    const SoapSettings& s = settings(row, i);
    const OptimizerSlot& slot = set_[i];
    const at::Tensor value = of_row(slot.parameter.value, row), g = of_row(gradient, row);
    if (value.numel() == 0) return;
    const at::Tensor average = of_row(slot.state[0], row), square = of_row(slot.state[1], row);
    std::vector<Preconditioner> all;
    for (std::size_t k = 0; k < axes_[i].size(); ++k) {
      if (value.size(axes_[i][k]) <= s.largest)
        all.push_back({axes_[i][k], of_row(slot.state[2 + 2 * k], row), of_row(slot.state[3 + 2 * k], row)});
    }

    // The first gradient only gives the first bases.
    const double t = now.t - 1;
    if (t > 0) {
      const double beta1 = s.beta1 * now.momentum;
      average.lerp_(g, 1 - beta1);
      square.mul_(s.beta2).add_(turned(g, all, false).square_().mul_(1 - s.beta2));
      const at::Tensor is_noise = square.lt(square.max().mul(noise));
      const at::Tensor step = turned(average, all, false).div(square.sqrt().add_(s.eps)).masked_fill_(is_noise, 0);
      const double size = now.rate * std::sqrt(1 - std::pow(s.beta2, t)) / (1 - std::pow(beta1, t));
      value.sub_(turned(step, all, true).mul_(size));
      value.mul_(1 - now.rate * s.decay.at(now));
    }
    for (const Preconditioner& one : all) {
      const at::Tensor matrix = g.movedim(one.axis, 0).flatten(1);
      one.products.lerp_(at::mm(matrix, matrix.t()), 1 - s.beta2);
      if (t == 0) one.basis.copy_(std::get<1>(at::linalg_eigh(one.products)).flip(1));
    }
    if (t > 0 && std::fmod(t, static_cast<double>(s.every)) == 0) {
      for (const Preconditioner& one : all) refresh(one, square);
    }
  }

  // One step of the power iteration from the present basis, the largest eigenvalues first. The mean squares are put
  // into the new order; they are not turned.
  static void refresh(const Preconditioner& one, const at::Tensor& square) {
    const at::Tensor image = at::mm(one.products, one.basis);
    const at::Tensor order = one.basis.mul(image).sum(0).argsort(0, /*descending=*/true);
    square.copy_(square.index_select(one.axis, order));
    one.basis.copy_(std::get<0>(at::linalg_qr(image.index_select(1, order))));
  }

  std::vector<SoapSettings> settings_;           // [row, parameter]
  std::vector<std::vector<std::int64_t>> axes_;  // by parameter: the axes with a preconditioner in any row
};

}  // namespace

void register_soap(Registry& registry) {
  registry.add(
      with_groups(
          Entry("optim.SOAP", "optimizer",
                "Adam in the eigenbases of Shampoo's preconditioner: few steps, much state (Vyas et al. 2024).")
              .with(rate_option(3e-3))
              .with(betas_option(0.95, 0.95,
                                 "decay of the running mean of the gradient, and of those of its square and of G·Gᵀ"))
              .with(eps_option(1e-8))
              .with(Option("weight_decay", "weights shrink by lr·weight_decay after each step")
                        .number()
                        .at_least(0)
                        .or_default(0.01))
              .with(decay_option())
              .with(Option("precondition_frequency", "steps between two refreshments of the eigenbases")
                        .integer()
                        .at_least(1)
                        .or_default(10)))
          .with(Option("max_precond_dim", "axes that are longer keep their own basis")
                    .integer()
                    .at_least(1)
                    .or_default(10000))
          .example("optim.SOAP { lr = 3e-3, max_precond_dim = 2048 }")
          .note("L and R are running means of G·Gᵀ and Gᵀ·G, Q_L and Q_R their eigenvectors; Adam takes its step with "
                "Q_Lᵀ·G·Q_R in place of G, and the step is turned back. Vectors take Adam's steps. The first step only "
                "makes the bases and leaves the weights as they are. Directions in which the gradient is rounding "
                "noise are left out. The same rule and defaults as the authors' code but for that. State of an [m, n] "
                "matrix: 8 + 8·(m² + n²) / (m·n) bytes for each weight, 24 where it is square."),
      optimizer_kind<Soap>({.largest = 0.01}));
}

}  // namespace trainlab

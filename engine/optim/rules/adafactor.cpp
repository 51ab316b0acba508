// optim.Adafactor: Adam's second moment as the product of a column and a row (Shazeer and Stern 2018), PyTorch's rule.
#include <ATen/ops/linalg_vector_norm.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "entries.h"
#include "set_optimizer.h"

namespace trainlab {
namespace {

struct AdafactorSettings {
  double beta2_decay, least_square = -1, least_size = 1e-3, d;
  WeightDecay decay;

  explicit AdafactorSettings(const Options& options)
      : beta2_decay(options.number("beta2_decay")), d(options.number("d")), decay(options) {
    if (!options.given("eps")) return;
    least_square = options.numbers("eps")[0];
    least_size = options.numbers("eps")[1];
  }
};

class Adafactor final : public SetOptimizer {
 public:
  Adafactor(std::span<const Options> specs, std::vector<OptimizedParameter> parameters, std::int64_t members)
      : SetOptimizer(specs, std::move(parameters), members, /*has_fused=*/false) {
    for (std::int64_t row = 0; row < set_.rows(); ++row)
      for (std::size_t i = 0; i < set_.size(); ++i) settings_.emplace_back(options_.options(row, i));
    for (std::size_t i = 0; i < set_.size(); ++i) {
      const at::Tensor matrix = as_matrix(member_of(set_[i].parameter.value, 0));
      const at::ScalarType type = matrix.scalar_type();
      if (matrix.dim() < 2) {
        set_.add_state(i, "variance", matrix.sizes().vec(), type);
      } else {
        set_.add_state(i, "row_var", {matrix.size(0), 1}, type);
        set_.add_state(i, "col_var", {1, matrix.size(1)}, type);
      }
    }
    set_.add_steps(at::kCPU);
  }

 private:
  at::Tensor member_of(const at::Tensor& tensor, std::int64_t row) const {
    return OptimizerSlot::slice(tensor, set_.members() ? row : -1);
  }

  // [rows, all other axes]: of a convolution's kernel this leaves far less state than the last two axes would.
  static at::Tensor as_matrix(const at::Tensor& tensor) { return tensor.dim() < 2 ? tensor : tensor.flatten(1); }

  // √(mean of squares), 0-dim.
  static at::Tensor size_of(const at::Tensor& tensor) {
    return at::linalg_vector_norm(tensor).div_(std::sqrt(static_cast<double>(tensor.numel())));
  }

  static at::Tensor mean_square(const at::Tensor& matrix, std::int64_t axis) {
    return at::linalg_vector_norm(matrix, 2, at::IntArrayRef(axis), /*keepdim=*/true)
        .square_()
        .div_(static_cast<double>(matrix.size(axis)));
  }

  void step_slice(std::size_t i, std::int64_t row, const at::Tensor& gradient, const StepNumbers& now) override {
    const AdafactorSettings& s = settings_[static_cast<std::size_t>(row) * set_.size() + i];
    const OptimizerSlot& slot = set_[i];
    const at::Tensor value = as_matrix(member_of(slot.parameter.value, row));
    if (value.numel() == 0) return;
    const at::Tensor g = as_matrix(member_of(gradient, row));
    const double eps = s.least_square >= 0                 ? s.least_square
                       : value.scalar_type() == at::kFloat ? std::numeric_limits<float>::epsilon()
                                                           : std::numeric_limits<double>::epsilon();
    const double take = std::pow(now.t, s.beta2_decay);
    const at::Tensor rate = size_of(value).clamp_min_(s.least_size).mul_(std::min(now.rate, 1 / std::sqrt(now.t)));
    value.mul_(1 - now.rate * s.decay.at(now));

    at::Tensor update;
    if (value.dim() < 2) {
      const at::Tensor variance = member_of(slot.state[0], row);
      variance.lerp_(g.square(), take);
      update = variance.clone();
    } else {
      const at::Tensor rows = member_of(slot.state[0], row), columns = member_of(slot.state[1], row);
      rows.lerp_(mean_square(g, 1), take);
      columns.lerp_(mean_square(g, 0), take);
      update = rows.mul(columns).div_(rows.mean().clamp_min_(eps));
    }
    update.clamp_min_(eps * eps).rsqrt_().mul_(g);
    value.sub_(update.mul_(rate.div_(size_of(update).div_(s.d).clamp_min_(1))));
  }

  std::vector<AdafactorSettings> settings_;  // [row, parameter]
};

}  // namespace

void register_adafactor(Registry& registry) {
  registry.add(
      with_groups(
          Entry("optim.Adafactor", "optimizer",
                "Adaptive rates with hardly any state: a row and a column for each matrix (Shazeer and Stern 2018).")
              .with(Option("lr", "largest rate, relative to the size of a tensor's values")
                        .number()
                        .at_least(0)
                        .or_default(1e-2))
              .with(Option("beta2_decay", "step t takes a share of t^beta2_decay into the mean squares of gradients")
                        .number()
                        .at_most(0)
                        .or_default(-0.8))
              .with(Option("eps",
                           "lower bounds: of a root mean square of gradients, and of the size of a tensor's values "
                           "(default: the precision of the weights' type, and 1e-3)")
                        .number()
                        .at_least(0)
                        .many(2))
              .with(Option("d", "bound of the root mean square of an update before the rate")
                        .number()
                        .at_least(1)
                        .or_default(1.0))
              .with(decoupled_option(0.0))
              .with(decay_option()))
          .example("optim.Adafactor { lr = 0.01 }")
          .note("The rate of a tensor W is max(eps2, RMS(W))·min(lr, 1/√t), where RMS is the root of the mean square: "
                "the option lr is a bound, and a schedule multiplies the bound. The squared gradient is estimated as "
                "R·C / mean(R) from the means R of rows and C of columns, and the update g / √(R·C / mean(R)) is "
                "limited to an RMS of d. State: 4·(1/rows + 1/columns) bytes for each weight of a matrix, 4 bytes for "
                "each value of a vector. The same rule and defaults as PyTorch's torch.optim.Adafactor, but for "
                "tensors of more than two axes: all axes but the first count as one, where PyTorch takes the last two "
                "axes and keeps a third of Adam's bytes for a 3×3 convolution."),
      optimizer_kind<Adafactor>({.largest = 0.03}));
}

}  // namespace trainlab

#include "loss_scaler.h"

#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include "core/value.h"
#include "tensor/types.h"

namespace trainlab {
namespace {

constexpr double first_scale = 65536;
constexpr double largest_scale = 0x1p127;  // the largest power of two in float32
constexpr double most_skipped_in_a_row = 30;

}  // namespace

LossScaler::LossScaler(std::int64_t members, at::Device device, double interval)
    : members_(members), interval_(interval) {
  constexpr auto size = static_cast<std::int64_t>(numbers);
  state_ = at::zeros(members > 0 ? Shape{members, size} : Shape{size}, at::TensorOptions(at::kDouble).device(device));
  state_.select(-1, scale).fill_(first_scale);
}

at::Tensor LossScaler::row_of(std::size_t row) const {
  return members_ > 0 ? state_.select(0, static_cast<std::int64_t>(row)) : state_;
}

at::Tensor LossScaler::scaled(const at::Tensor& loss) const {
  if (loss.is_meta()) return loss;
  return loss.mul(state_.select(-1, scale).to(loss.scalar_type()));
}

at::Tensor LossScaler::unscale(std::span<at::Tensor> gradients, std::size_t row) const {
  std::vector<at::Tensor> own;
  for (const at::Tensor& gradient : gradients) {
    if (!gradient.defined()) continue;
    own.push_back(members_ > 0 ? gradient.select(0, static_cast<std::int64_t>(row)) : gradient);
  }
  at::Tensor found = at::zeros({1}, state_.options().dtype(at::kFloat));
  const at::Tensor inverse = row_of(row).select(0, scale).reciprocal().to(at::kFloat);
  if (!own.empty()) at::_amp_foreach_non_finite_check_and_unscale_(own, found, inverse);
  return found;
}

void LossScaler::count(std::size_t row, const at::Tensor& found_inf, bool is_again) {
  const at::Tensor state = row_of(row);
  at::Tensor left_out = state.clone();
  left_out.select(0, scale).div_(2);
  left_out.select(0, taken).zero_();
  left_out.narrow(0, skipped, 2).add_(1);
  at::Tensor went_on = state;
  if (!is_again) {
    went_on = state.clone();
    went_on.select(0, taken).add_(1);
    went_on.select(0, skipped_in_a_row).zero_();
    at::Tensor grown = went_on.clone();
    grown.select(0, scale).mul_(2).clamp_max_(largest_scale);
    grown.select(0, taken).zero_();
    went_on = at::where(went_on.select(0, taken).ge(interval_), grown, went_on);
  }
  state.copy_(at::where(found_inf.gt(0), left_out, went_on));
}

Verdict LossScaler::apply(std::span<at::Tensor> gradients, const StepFacts& facts) {
  if (facts.loss.is_meta()) return {};  // a dry run has no values
  const std::size_t rows = facts.active.size();
  found_inf_.assign(rows, {});
  Verdict verdict;
  for (std::size_t row = 0; row < rows; ++row) {
    if (!facts.active[row]) continue;
    found_inf_[row] = unscale(gradients, row);
    count(row, found_inf_[row], facts.is_again);
    if (is_left_to_optimizer_ || found_inf_[row].item<float>() == 0) continue;
    verdict.skipped.resize(rows);
    verdict.skipped[row] = 1;
  }
  return verdict;
}

Scaling LossScaler::scaling(std::size_t row) const {
  const at::Tensor host = row_of(row).cpu();
  const double* const numbers_of_row = host.const_data_ptr<double>();
  return {.scale = numbers_of_row[scale], .skipped_steps = static_cast<std::int64_t>(numbers_of_row[skipped])};
}

std::optional<std::string> LossScaler::failure(std::size_t row) const {
  const at::Tensor host = row_of(row).cpu();
  const double* const numbers_of_row = host.const_data_ptr<double>();
  if (numbers_of_row[skipped_in_a_row] < most_skipped_in_a_row) return std::nullopt;
  return "the gradients in float16 were not finite in " + number_text(numbers_of_row[skipped_in_a_row]) +
         " steps in a row, down to a loss scale of " + number_text(2 * numbers_of_row[scale]);
}

}  // namespace trainlab

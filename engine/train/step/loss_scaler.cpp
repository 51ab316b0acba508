#include "loss_scaler.h"

#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "core/value.h"
#include "tensor/types.h"

namespace trainlab {
namespace {

constexpr double first_scale = 65536;
// The powers of two that have a normal inverse in float32.
constexpr double least_scale = 0x1p-126, largest_scale = 0x1p126;
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
  left_out.select(0, scale).div_(2).clamp_min_(least_scale);
  left_out.select(0, taken).zero_();
  left_out.select(0, skipped).add_(1);
  left_out.select(0, skipped_in_a_row).add_(1);
  at::Tensor went_on = state;
  if (!is_again) {
    went_on = state.clone();
    went_on.select(0, taken).add_(1);
    // Where nobody reads each step, the failure is still there when it is read.
    const at::Tensor in_a_row = went_on.select(0, skipped_in_a_row);
    in_a_row.mul_(in_a_row.ge(most_skipped_in_a_row));
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
  found_inf_.assign(is_left_to_optimizer_ ? rows : 0, {});
  Verdict verdict;
  for (std::size_t row = 0; row < rows; ++row) {
    if (!facts.active[row]) continue;
    const at::Tensor found_inf = unscale(gradients, row);
    count(row, found_inf, facts.is_again);
    if (is_left_to_optimizer_) {
      found_inf_[row] = found_inf;
    } else if (found_inf.item<float>() != 0) {
      verdict.skipped.resize(rows);
      verdict.skipped[row] = 1;
    }
  }
  return verdict;
}

std::array<double, LossScaler::numbers> LossScaler::numbers_of(std::size_t row) const {
  const at::Tensor host = row_of(row).cpu();
  std::array<double, numbers> all;
  std::copy_n(host.const_data_ptr<double>(), all.size(), all.begin());
  return all;
}

Scaling LossScaler::scaling(std::size_t row) const {
  const auto now = numbers_of(row);
  return {.scale = now[scale], .skipped_steps = static_cast<std::int64_t>(now[skipped])};
}

std::optional<std::string> LossScaler::failure(std::size_t row) const {
  const auto now = numbers_of(row);
  if (now[skipped_in_a_row] < most_skipped_in_a_row) return std::nullopt;
  return "the gradients in float16 were not finite in " + number_text(now[skipped_in_a_row]) +
         " steps in a row, down to a loss scale of " + number_text(2 * now[scale]);
}

}  // namespace trainlab

#include "loss_scaler.h"

#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <vector>

#include "core/value.h"
#include "tensor/types.h"

namespace trainlab {
namespace {

constexpr double first_scale = 65536;
constexpr double largest_scale = 0x1p127;  // the largest power of two in float32
constexpr double most_skipped_in_a_row = 30;

}  // namespace

LossScaler::LossScaler(std::int64_t members, double interval) : members_(members), interval_(interval) {
  constexpr auto size = static_cast<std::int64_t>(numbers);
  state_ = at::zeros(members > 0 ? Shape{members, size} : Shape{size}, at::kDouble);
  state_.select(-1, scale).fill_(first_scale);
}

at::Tensor LossScaler::scaled(const at::Tensor& loss) const {
  if (loss.is_meta()) return loss;
  if (members_ == 0) return loss.mul(value(0, scale));
  return loss.mul(state_.select(1, scale).to(loss.options()));
}

bool LossScaler::unscale(std::span<at::Tensor> gradients, std::size_t row) const {
  std::vector<at::Tensor> own;
  for (const at::Tensor& gradient : gradients) {
    if (!gradient.defined()) continue;
    own.push_back(members_ > 0 ? gradient.select(0, static_cast<std::int64_t>(row)) : gradient);
  }
  if (own.empty()) return true;
  at::Tensor found = at::zeros({1}, own.front().options());
  const at::Tensor inverse = at::full({1}, 1 / value(row, scale), own.front().options());
  at::_amp_foreach_non_finite_check_and_unscale_(own, found, inverse);
  return found.item<float>() == 0;
}

Verdict LossScaler::apply(std::span<at::Tensor> gradients, const StepFacts& facts) {
  if (facts.loss.is_meta()) return {};  // a dry run has no values
  Verdict verdict;
  for (std::size_t row = 0; row < facts.active.size(); ++row) {
    if (!facts.active[row]) continue;
    if (!unscale(gradients, row)) {
      verdict.skipped.resize(facts.active.size());
      verdict.skipped[row] = 1;
      value(row, scale) /= 2;
      value(row, taken) = 0;
      value(row, skipped) += 1;
      value(row, skipped_in_a_row) += 1;
    } else if (!facts.is_again) {
      value(row, skipped_in_a_row) = 0;
      value(row, taken) += 1;
      if (value(row, taken) < interval_) continue;
      if (value(row, scale) < largest_scale) value(row, scale) *= 2;
      value(row, taken) = 0;
    }
  }
  return verdict;
}

Scaling LossScaler::scaling(std::size_t row) const {
  return {.scale = value(row, scale), .skipped_steps = static_cast<std::int64_t>(value(row, skipped))};
}

std::optional<std::string> LossScaler::failure(std::size_t row) const {
  if (value(row, skipped_in_a_row) < most_skipped_in_a_row) return std::nullopt;
  return "the gradients in float16 were not finite in " + number_text(most_skipped_in_a_row) +
         " steps in a row, down to a loss scale of " + number_text(2 * value(row, scale));
}

}  // namespace trainlab

#include "loss_scaler.h"

#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <vector>

#include "core/value.h"
#include "member_slice.h"
#include "tensor/device.h"
#include "tensor/types.h"

namespace trainlab {
namespace {

constexpr double first_scale = 65536;
constexpr double largest_scale = 0x1p127;  // the largest power of two in float32
constexpr double most_skipped_in_a_row = 30;

}  // namespace

LossScaler::LossScaler(std::int64_t members, at::Device device, double interval)
    : members_(members), is_synchronous_(device_at(device).is_synchronous()), interval_(interval) {
  constexpr auto size = static_cast<std::int64_t>(numbers);
  state_ = at::zeros(members > 0 ? Shape{members, size} : Shape{size}, at::TensorOptions(at::kDouble).device(device));
  state_.select(-1, scale).fill_(first_scale);
}

at::Tensor LossScaler::cell(std::size_t row, Number number) const {
  return member_slice(state_, members_ > 0, row).select(0, static_cast<std::int64_t>(number));
}

at::Tensor LossScaler::scaled(const at::Tensor& loss) const {
  return loss.is_meta() ? loss : loss.mul(state_.select(-1, scale).to(loss.scalar_type()));
}

at::Tensor LossScaler::unscale(std::span<at::Tensor> gradients, std::size_t row) const {
  std::vector<at::Tensor> own;
  for (const at::Tensor& gradient : gradients)
    if (gradient.defined()) own.push_back(member_slice(gradient, members_ > 0, row));
  const auto options = state_.options().dtype(at::kFloat);
  at::Tensor found = at::zeros({1}, options);
  if (!own.empty())
    at::_amp_foreach_non_finite_check_and_unscale_(own, found, cell(row, scale).reciprocal().to(options).view({1}));
  return found;
}

void LossScaler::count(std::size_t row, const at::Tensor& is_lost, bool is_again) {
  const at::Tensor now = cell(row, scale), since = cell(row, taken), run = cell(row, skipped_in_a_row);
  const at::Tensor then = is_again ? since : since.add(1);
  const at::Tensor is_due = is_again ? at::zeros_like(is_lost) : then.ge(interval_);
  const at::Tensor grown = at::where(is_due.logical_and(now.lt(largest_scale)), now.mul(2), now);
  now.copy_(at::where(is_lost, now.div(2), grown));
  since.copy_(then.masked_fill(is_due.logical_or(is_lost), 0));
  run.copy_(at::where(is_lost, run.add(1), is_again ? run : at::zeros_like(run)));
  cell(row, skipped).add_(is_lost);
}

Verdict LossScaler::apply(std::span<at::Tensor> gradients, const StepFacts& facts) {
  if (facts.loss.is_meta()) return {};  // a dry run has no values
  Verdict verdict;
  std::vector<at::Tensor> lost;
  for (std::size_t row = 0; row < facts.active.size(); ++row) {
    if (!facts.active[row]) {
      lost.push_back(at::zeros({1}, state_.options().dtype(at::kBool)));
      continue;
    }
    lost.push_back(unscale(gradients, row).ne(0));
    count(row, lost.back().squeeze(0), facts.is_again);
    if (!is_synchronous_ || !lost.back().item<bool>()) continue;
    verdict.skipped.resize(facts.active.size());
    verdict.skipped[row] = 1;
  }
  if (!is_synchronous_) verdict.undone = at::cat(lost);
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

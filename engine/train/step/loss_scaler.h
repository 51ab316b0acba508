// LossScaler: the scale of the loss in fits that compute in float16. Private to the module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "train/gradient_pass.h"
#include "train/trained.h"

namespace trainlab {

// Gradients below 6e-8 are 0 in float16, so the loss is multiplied by a scale before the backward pass and the
// gradients are divided by it afterwards. A step whose gradients are not finite is left out, and halves the scale; the
// scale doubles after `interval` steps in a row that were taken (Micikevicius et al. 2018, "Mixed Precision Training";
// the numbers are those of PyTorch's GradScaler). Each member of a group has a scale of its own. On a device
// that works by itself, the scale is there and apply() waits for nothing: its verdict is a tensor. Not thread-safe.
class LossScaler final : public GradientPass {
 public:
  // `members` as in StepFacts. `device`: where the gradients are.
  explicit LossScaler(std::int64_t members, at::Device device = at::kCPU, double interval = 2000);

  // The loss, which is 0-dim or [members], multiplied by the scale of each member.
  at::Tensor scaled(const at::Tensor& loss) const;

  std::string_view name() const override { return "loss scale"; }
  // Divides the gradients, and leaves out the rows whose gradients are not finite.
  Verdict apply(std::span<at::Tensor> gradients, const StepFacts& facts) override;

  Scaling scaling(std::size_t row) const;  // waits for the device
  // A reason to end the fit of a row: too many steps in a row were left out. Waits for the device.
  std::optional<std::string> failure(std::size_t row) const;

  // The tensor that a checkpoint keeps: float64 on the device, [4] or [members, 4].
  const at::Tensor& state() const { return state_; }

 private:
  // The numbers in a row of the state: the scale, the steps taken since the scale changed, the steps left out in all,
  // and the steps left out in a row.
  enum Number : std::size_t { scale, taken, skipped, skipped_in_a_row, numbers };
  at::Tensor cell(std::size_t row, Number number) const;  // a 0-dim view
  double value(std::size_t row, Number number) const { return cell(row, number).item<double>(); }
  // Divides the gradients of a row by the scale. Returns, as float32 [1], 1 where they are not finite, and else 0.
  at::Tensor unscale(std::span<at::Tensor> gradients, std::size_t row) const;
  // Counts the step of a row; `is_lost`: bool, 0-dim.
  void count(std::size_t row, const at::Tensor& is_lost, bool is_again);

  std::int64_t members_;
  bool is_synchronous_;
  double interval_;
  at::Tensor state_;
};

}  // namespace trainlab

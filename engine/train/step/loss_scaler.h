// LossScaler: the scale of the loss in fits that compute in float16. Private to the module.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "train/gradient_pass.h"
#include "train/trained.h"

namespace trainlab {

// Gradients below 6e-8 are 0 in float16, so the loss is multiplied by a scale before the backward pass and the
// gradients are divided by it afterwards. A step whose gradients are not finite is left out, and halves the scale; the
// scale doubles after `interval` steps in a row that were taken (Micikevicius et al. 2018, "Mixed Precision Training";
// the numbers are those of PyTorch's GradScaler). Each member of a group has a scale of its own. The scales are on the
// device of the gradients, which computes them. Not thread-safe.
class LossScaler final : public GradientPass {
 public:
  // `members` as in StepFacts.
  LossScaler(std::int64_t members, at::Device device, double interval = 2000);

  // Whether the optimizer leaves rows out, by found_inf(), and a verdict none. If not, apply() reads whether the
  // gradients are finite, for which it waits for the device once for each member.
  void leave_to_optimizer(bool is_left) { is_left_to_optimizer_ = is_left; }
  // StepInputs::found_inf of the latest step; empty unless the optimizer leaves rows out.
  std::span<const at::Tensor> found_inf() const { return found_inf_; }

  // The loss, which is 0-dim or [members], multiplied by the scale of each member.
  at::Tensor scaled(const at::Tensor& loss) const;

  std::string_view name() const override { return "loss scale"; }
  // Divides the gradients, and leaves out the rows whose gradients are not finite unless the optimizer does.
  Verdict apply(std::span<at::Tensor> gradients, const StepFacts& facts) override;

  // Waits for the device.
  Scaling scaling(std::size_t row) const;
  // The reason to end the fit of a row where too many steps in a row were left out. Waits for the device.
  std::optional<std::string> failure(std::size_t row) const;

  // The tensor that a checkpoint keeps: float64, [4] or [members, 4].
  const at::Tensor& state() const { return state_; }

 private:
  // The numbers in a row of the state: the scale, the steps taken since the scale changed, the steps left out in all,
  // and the steps left out in a row, which stay where they are too many.
  enum Number : std::size_t { scale, taken, skipped, skipped_in_a_row, numbers };

  at::Tensor row_of(std::size_t row) const;
  std::array<double, numbers> numbers_of(std::size_t row) const;
  // Divides the gradients of a row by the scale. Returns a float32 tensor [1]: 1 if they are not finite, else 0.
  at::Tensor unscale(std::span<at::Tensor> gradients, std::size_t row) const;
  // Takes the outcome of a step into the state of a row.
  void count(std::size_t row, const at::Tensor& found_inf, bool is_again);

  std::int64_t members_;
  double interval_;
  at::Tensor state_;
  bool is_left_to_optimizer_ = false;
  std::vector<at::Tensor> found_inf_;
};

}  // namespace trainlab

// ReaderPass: gives the gradients of each member's steps to those of its stop rules that read gradients. Private to the
// module.
#pragma once

#include <utility>
#include <vector>

#include "train/gradient_pass.h"
#include "train/gradient_reader.h"

namespace trainlab {

// Not thread-safe.
class ReaderPass final : public GradientPass {
 public:
  // The readers of the member in each row, from the next step on; they live until the next call, or as long as this
  // object takes part in steps. Rows beyond these are padding.
  void read_for(std::vector<std::vector<GradientReader*>> rows) { rows_ = std::move(rows); }

  std::string_view name() const override { return "stop rules"; }
  Verdict apply(std::span<at::Tensor> gradients, const StepFacts& facts) override;
  bool may_skip() const override { return false; }
  bool takes_lost_steps() const override { return true; }
  bool comes_before_clip() const override { return true; }

 private:
  std::vector<std::vector<GradientReader*>> rows_;
};

}  // namespace trainlab

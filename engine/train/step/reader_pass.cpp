#include "reader_pass.h"

#include <ATen/ops/zeros_like.h>

#include "member_slice.h"

namespace trainlab {

Verdict ReaderPass::apply(std::span<at::Tensor> gradients, const StepFacts& facts) {
  if (facts.is_again) return {};
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (rows_[row].empty() || !facts.active[row]) continue;
    std::vector<at::Tensor> own;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const at::Tensor all = gradients[i].defined() ? gradients[i] : at::zeros_like(facts.weights[i].detach());
      own.push_back(member_slice(all, facts.members > 0, row).to(at::kFloat));
    }
    const at::Tensor found_inf = facts.found_inf.empty() ? at::Tensor() : facts.found_inf[row];
    for (GradientReader* const reader : rows_[row]) reader->read(facts.step, own, found_inf);
  }
  return {};
}

}  // namespace trainlab

// The gradients of several micro-batches as those of one batch. Private to the module.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "objective/loss.h"

namespace trainlab {

// A mean over all micro-batches is Σ weight·mean / Σ weight, where weight is what the mean of a micro-batch was divided
// by. A sum of losses has such a mean for each part with weights of its own, so each of them gets a backward pass and
// gradients of its own; the parts that are divided by the number of samples share one. Not thread-safe.
class Accumulation {
 public:
  // `parameters` are leaves without gradients; `parts` those of the loss; `members` as in BatchView.
  Accumulation(std::span<const at::Tensor> parameters, std::span<const LossPart> parts, std::int64_t members)
      : parameters_(parameters), parts_(parts), members_(members) {}

  // The backward pass of a micro-batch's loss. Error{recipe} where a part of a sum tells a count that it did not tell
  // of the first micro-batch.
  void add(const LossValue& loss, std::int64_t samples);
  // The mean loss. Puts the gradients in the order of the parameters, undefined ones included.
  at::Tensor finish(std::vector<at::Tensor>& gradients);

 private:
  struct Term {
    at::Tensor sum, total;              // 0-dim, or [M]
    std::vector<at::Tensor> gradients;  // of the sum
  };
  void begin(const LossValue& loss);
  void add_term(Term& term, const LossMean& mean, std::int64_t samples, bool keeps_graph);

  std::span<const at::Tensor> parameters_;
  std::span<const LossPart> parts_;
  std::int64_t members_;
  std::vector<std::size_t> term_of_;  // of each part
  std::vector<Term> terms_;           // of a sum of losses the first is of the parts that are means by sample
};

}  // namespace trainlab

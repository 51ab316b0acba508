// Accumulation: combines the gradients of several micro-batches into those of one batch. Private to the module.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "loss_scaler.h"
#include "objective/loss.h"

namespace trainlab {

// The mean loss over all micro-batches is Σ weight·mean / Σ weight, where `weight` is the number by which the mean of a
// micro-batch was divided. Each part of a sum of losses has its own weights, so each part gets its own backward pass
// and gradients; the parts that are divided by the number of samples share one pass. Not thread-safe.
class Accumulation {
 public:
  // `parameters` are leaves without gradients; `parts` are the parts of the loss; `members` as in BatchView. If
  // `scaler` is not null, the gradients are those of the loss multiplied by the scale.
  Accumulation(std::span<const at::Tensor> parameters, std::span<const LossPart> parts, std::int64_t members,
               const LossScaler* scaler)
      : parameters_(parameters), parts_(parts), members_(members), scaler_(scaler) {}

  // Takes the backward pass of a micro-batch's loss. Error{recipe} if a part of a sum returns a count here and did not
  // for the first micro-batch, or the other way round.
  void add(const LossValue& loss, std::int64_t samples);
  // Returns the mean loss. Stores the gradients in the order of the parameters; a parameter without a gradient has an
  // undefined tensor.
  at::Tensor finish(std::vector<at::Tensor>& gradients);

 private:
  struct Term {
    at::Tensor sum, total;              // 0-dim, or [M]
    std::vector<at::Tensor> gradients;  // gradients of the sum
  };
  void begin(const LossValue& loss);
  void add_term(Term& term, const LossMean& mean, std::int64_t samples, bool keeps_graph);

  std::span<const at::Tensor> parameters_;
  std::span<const LossPart> parts_;
  std::int64_t members_;
  const LossScaler* scaler_;
  std::vector<std::size_t> term_of_;  // index of the term of each part
  std::vector<Term> terms_;           // the first term of a sum of losses holds the parts that are means by sample
};

}  // namespace trainlab

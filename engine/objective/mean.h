// The mean that every loss takes: over samples, weighted by samples and positions if there are weights. Private to the
// module.
#pragma once

#include <ATen/core/Tensor.h>

#include "objective/loss.h"

namespace trainlab {

class SampleMean {
 public:
  // A column named "weight" with one number per sample weights the samples.
  explicit SampleMean(const Head& head) : weight_column_(head.weight_column) {}

  // True without sample weights and without a member axis: LibTorch's own mean is then right.
  bool plain(const BatchView& batch) const { return batch.members == 0 && !weight_column_; }

  // each: values in the order (M,) B, positions, in any shape. The mean over samples of the mean over positions, or
  // with sample weights w: Σ w_i each_i / Σ w_i.
  LossValue operator()(const at::Tensor& each, const BatchView& batch) const;
  // counts: how much each position counts, as many as `each`, which has been multiplied by them: Σ w_i each_i /
  // Σ w_i counts_i, and 0 where nothing counts.
  LossValue operator()(const at::Tensor& each, const at::Tensor& counts, const BatchView& batch) const;

 private:
  // [B, P] or [M, B, P].
  static at::Tensor by_sample(const at::Tensor& x, const BatchView& batch);
  at::Tensor weights(const at::Tensor& like, const BatchView& batch) const;  // [B] or [M, B], or undefined

  std::optional<std::size_t> weight_column_;
};

}  // namespace trainlab

// PairedGradients: how much of a model's gradients is the noise of their batches. Private to the module.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/named_tensors.h"

namespace trainlab {

// Steps 2i and 2i + 1 are a pair. Their gradients g and h have nearly the same expectation m and independent noise,
// because the batches of an epoch share no samples; only a pair with an epoch's end between its steps may share a few.
// Two sums over the pairs are kept for each weight, of (g − h)² and of g² + h². The first divided by the second is the
// weight's share of noise:
//
//   m = 0   1 on average, for any number of pairs, where −h is as likely as h: with −h, a share x would be 2 − x
//   m ≠ 0   1 / (1 + m² / v) for many pairs, where v is the variance of a gradient
//
// The variance from differences of successive values is that of von Neumann et al. (1941), "The Mean Square Successive
// Difference". Keeps three float32 numbers for each weight, on the device of the gradients. Not thread-safe.
class PairedGradients {
 public:
  // The arguments are those of GradientReader::read(). A pair with a step that was left out does not count.
  void add(std::int64_t step, std::span<const at::Tensor> gradients, const at::Tensor& found_inf);
  // The mean of the shares over the weights of which a gradient was not 0; NaN where there is none, or no pair, and
  // where a sum is not finite. Waits for the device.
  double noise_share() const;

  // By name, for checkpoints; restore() takes the place of all that was added.
  NamedTensors tensors() const;
  void restore(const NamedTensors& tensors);

 private:
  std::int64_t first_step_ = -1;         // of a pair whose second step is still to come; else −1
  std::vector<at::Tensor> first_;        // the gradients of the first step; scratch memory where there is none
  at::Tensor first_lost_;                // found_inf of the first step; may be undefined
  std::vector<at::Tensor> squares_;      // the sum of g² + h²; empty before the first pair
  std::vector<at::Tensor> differences_;  // the sum of (g − h)²
};

}  // namespace trainlab

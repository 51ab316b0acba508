// The gradient noise scale: how noisy the gradient of a batch is, as the size of the batch at which noise and signal
// are equal (McCandlish et al. 2018, "An Empirical Model of Large-Batch Training", section 2.2 and appendix A.1). Pure
// functions.
#pragma once

#include <array>
#include <cstddef>

namespace trainlab {

constexpr std::size_t noise_groups = 8;

// Sums over gradients at the same weights, each the mean over a batch of its own. The gradients lie in groups of equal
// size, from which the interval follows.
struct GradientSums {
  double batch = 0;                                                      // samples of a gradient
  double per_group = 0;                                                  // gradients of a group
  std::array<double, noise_groups> squares = {};                         // by group: the sum of |gradient|²
  std::array<std::array<double, noise_groups>, noise_groups> dots = {};  // of the groups' sums of gradients
};

// In samples. The value is tr(Σ) / |G|², where Σ is the covariance of a sample's gradient and G the true gradient: both
// estimated without bias, so that the estimate of |G|² may be 0 or less, and then the value is infinite. [low, high]
// holds the scale with 95 %, by Fieller's theorem with the jackknife's covariances over the groups; high is infinite
// where the gradients do not tell G from 0.
struct NoiseScale {
  double value = 0, low = 0, high = 0;
};

NoiseScale noise_scale(const GradientSums& sums);

}  // namespace trainlab

// The gradient noise scale: how noisy the gradient of a batch is, as the size of the batch at which noise and signal
// are equal (McCandlish et al. 2018, "An Empirical Model of Large-Batch Training", section 2.2 and appendix A.1). Pure
// functions.
#pragma once

#include <array>
#include <cstddef>
#include <limits>

namespace trainlab {

constexpr std::size_t noise_groups = 8;

// Sums over gradients at the same weights; each gradient is the mean over a batch of its own. The gradients are divided
// into groups of equal size, whose differences give the interval.
struct GradientSums {
  double batch = 0;  // samples in the batch of a gradient
  // Samples of an epoch, of whose batches no two share a sample; infinite where each batch is drawn by itself.
  double epoch = std::numeric_limits<double>::infinity();
  double per_group = 0;                                                  // gradients in a group
  std::array<double, noise_groups> squares = {};                         // by group: the sum of |gradient|²
  std::array<std::array<double, noise_groups>, noise_groups> dots = {};  // dot products of the groups' sums
  // Pairs (i, j) of two gradients of one epoch, by the groups of i and of j.
  std::array<std::array<double, noise_groups>, noise_groups> pairs = {};
};

// The noise scale in samples: tr(Σ) / |G|², where Σ is the covariance of a sample's gradient and G the gradient over
// all samples. Both are estimated without bias, so the estimate of |G|² may be 0 or less; then the value is infinite.
// The gradients of batches of B samples out of an epoch of N have the variance Σ/B · (1 − B/N), and two of one epoch
// the covariance −Σ/N (Cochran 1977, "Sampling Techniques", theorem 2.2). Noise that does not come from the choice of
// samples, as that of dropout, is not smaller in larger batches of an epoch: it counts up to N/(N − B) times.
// [low, high] holds the scale with 95 %, by Fieller's theorem with the jackknife's covariances over the groups; high is
// infinite where the gradients do not show that G differs from 0.
struct NoiseScale {
  double value = 0, low = 0, high = 0;
};

NoiseScale noise_scale(const GradientSums& sums);

}  // namespace trainlab

#include "find/noise_scale.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/statistics.h"

namespace trainlab {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

struct Estimate {
  double noise = 0;   // tr(Σ)
  double signal = 0;  // |G|²
};

// Estimates from all groups except `without`; from all groups if `without` is noise_groups.
Estimate estimate(const GradientSums& sums, std::size_t without) {
  double count = 0, squares = 0, of_sum = 0, pairs = 0;
  for (std::size_t a = 0; a < noise_groups; ++a) {
    if (a == without) continue;
    count += sums.per_group;
    squares += sums.squares[a];
    for (std::size_t b = 0; b < noise_groups; ++b) {
      if (b == without) continue;
      of_sum += sums.dots[a][b];
      pairs += sums.pairs[a][b];
    }
  }
  const double of_mean = of_sum / (count * count), spread = (squares - count * of_mean) / (count - 1);
  const double share = sums.batch / sums.epoch;
  const double noise = sums.batch * spread / (1 - share * (1 - pairs / (count * (count - 1))));
  return {noise, of_mean - noise / (sums.batch * count) * (1 - share * (1 + pairs / count))};
}

}  // namespace

NoiseScale noise_scale(const GradientSums& sums) {
  const Estimate all = estimate(sums, noise_groups);
  constexpr auto n = static_cast<double>(noise_groups);
  double noise_mean = 0, signal_mean = 0;
  std::array<Estimate, noise_groups> without;
  for (std::size_t g = 0; g < noise_groups; ++g) {
    without[g] = estimate(sums, g);
    noise_mean += without[g].noise / n;
    signal_mean += without[g].signal / n;
  }
  double of_noise = 0, of_signal = 0, of_both = 0;  // variances of the estimates, and their covariance
  for (const Estimate& one : without) {
    const double noise = one.noise - noise_mean, signal = one.signal - signal_mean;
    of_noise += noise * noise * (n - 1) / n;
    of_signal += signal * signal * (n - 1) / n;
    of_both += noise * signal * (n - 1) / n;
  }
  NoiseScale scale;
  scale.value = all.signal > 0 ? all.noise / all.signal : infinite;
  // The ratios r with (noise − r·signal)² ≤ t²·variance of (noise − r·signal): a·r² − 2·b·r + c ≤ 0.
  const double t = std::pow(student_quantile(0.975, n - 1), 2);
  const double a = all.signal * all.signal - t * of_signal;
  const double b = all.noise * all.signal - t * of_both;
  const double c = all.noise * all.noise - t * of_noise;
  const double root = std::sqrt(std::max(b * b - a * c, 0.0));
  if (a > 0) {
    scale.low = std::max((b - root) / a, 0.0);
    scale.high = std::max((b + root) / a, 0.0);
  } else {
    // The signal may be 0, so no ratio is too large: the interval reaches from the greater root to infinity.
    scale.low = c > 0 && a < 0 ? std::max((b - root) / a, 0.0) : 0;
    scale.high = infinite;
  }
  return scale;
}

}  // namespace trainlab

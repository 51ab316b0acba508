// The gradient noise scale against its closed form: gradients μ + σ·z of a sample have the scale d·σ² / |μ|².
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "find/noise_scale.h"

namespace trainlab::noise_scale_test {

namespace {

constexpr std::size_t parameters = 200;
constexpr int per_group = 4;

// Sums over gradients of batches, whose signal has the length `signal` and whose samples have unit noise.
GradientSums sums_of(double batch, double signal, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  GradientSums sums{.batch = batch, .per_group = per_group};
  std::vector<std::vector<double>> totals(noise_groups, std::vector<double>(parameters, 0.0));
  for (std::size_t g = 0; g < noise_groups; ++g) {
    for (int i = 0; i < per_group; ++i) {
      for (std::size_t k = 0; k < parameters; ++k) {
        const double mean = k == 0 ? signal : 0.0;
        const double gradient = mean + normal(random) / std::sqrt(batch);
        sums.squares[g] += gradient * gradient;
        totals[g][k] += gradient;
      }
    }
  }
  for (std::size_t a = 0; a < noise_groups; ++a) {
    for (std::size_t b = 0; b < noise_groups; ++b) {
      for (std::size_t k = 0; k < parameters; ++k) sums.dots[a][b] += totals[a][k] * totals[b][k];
    }
  }
  return sums;
}

}  // namespace

TEST_CASE("the noise scale of a linear model is found, and its interval holds it") {
  const double batch = GENERATE(16.0, 64.0);
  const double signal = GENERATE(1.0, 4.0);
  CAPTURE(batch, signal);
  const double truth = static_cast<double>(parameters) / (signal * signal);
  std::mt19937_64 random(7);
  constexpr int repeats = 400;
  int inside = 0;
  double mean = 0;
  for (int i = 0; i < repeats; ++i) {
    const NoiseScale found = noise_scale(sums_of(batch, signal, random));
    CHECK(found.low <= found.value);
    CHECK(found.value <= found.high);
    inside += found.low <= truth && truth <= found.high ? 1 : 0;
    mean += found.value / repeats;
  }
  CHECK(mean == Approx(truth).epsilon(0.05));
  CHECK(inside >= repeats * 92 / 100);
}

TEST_CASE("where noise hides the gradient, no scale is too large") {
  std::mt19937_64 random(7);
  int open = 0;
  for (int i = 0; i < 100; ++i) open += std::isinf(noise_scale(sums_of(1, 0, random)).high) ? 1 : 0;
  CHECK(open >= 90);
}

TEST_CASE("gradients without noise have the scale 0") {
  GradientSums sums{.batch = 8, .per_group = per_group};
  for (std::size_t a = 0; a < noise_groups; ++a) {
    sums.squares[a] = per_group;
    sums.dots[a].fill(per_group * per_group);
  }
  const NoiseScale found = noise_scale(sums);
  CHECK(found.value == Approx(0).margin(1e-12));
  CHECK(found.high == Approx(0).margin(1e-9));
}

}  // namespace trainlab::noise_scale_test

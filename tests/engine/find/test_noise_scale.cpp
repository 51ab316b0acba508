// The gradient noise scale against its closed form: gradients μ + σ·z of a sample have the scale d·σ² / |μ|².
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "find/noise_scale.h"

namespace trainlab::noise_scale_test {

namespace {

constexpr std::size_t parameters = 200;
constexpr int per_group = 4;

using Vector = std::vector<double>;

// Adds the squares of the gradients, in turn, and the dot products of their groups.
void add(GradientSums& sums, const std::vector<Vector>& gradients) {
  std::vector<Vector> totals(noise_groups, Vector(gradients.front().size(), 0.0));
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Vector& gradient = gradients[i];
    Vector& total = totals[i / per_group];
    sums.squares[i / per_group] += std::inner_product(gradient.begin(), gradient.end(), gradient.begin(), 0.0);
    for (std::size_t k = 0; k < gradient.size(); ++k) total[k] += gradient[k];
  }
  for (std::size_t a = 0; a < noise_groups; ++a) {
    for (std::size_t b = 0; b < noise_groups; ++b)
      sums.dots[a][b] += std::inner_product(totals[a].begin(), totals[a].end(), totals[b].begin(), 0.0);
  }
}

// Sums over gradients of batches, whose signal has the length `signal` and whose samples have unit noise.
GradientSums sums_of(double batch, double signal, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  GradientSums sums{.batch = batch, .per_group = per_group};
  std::vector<Vector> gradients(noise_groups * per_group, Vector(parameters));
  for (Vector& gradient : gradients) {
    for (std::size_t k = 0; k < parameters; ++k)
      gradient[k] = (k == 0 ? signal : 0.0) + normal(random) / std::sqrt(batch);
  }
  add(sums, gradients);
  return sums;
}

// The gradients of some samples, of few parameters.
struct Samples {
  static constexpr std::size_t few = 50;
  std::vector<Vector> gradients;

  // With a signal of the length 4 and unit noise.
  Samples(std::size_t count, std::mt19937_64& random) : gradients(count, Vector(few)) {
    std::normal_distribution<double> normal;
    for (Vector& gradient : gradients) {
      for (std::size_t k = 0; k < few; ++k) gradient[k] = (k == 0 ? 4.0 : 0.0) + normal(random);
    }
  }

  Vector mean(std::size_t from, std::size_t to) const {
    Vector mean(few, 0.0);
    for (std::size_t i = from; i < to; ++i) {
      for (std::size_t k = 0; k < few; ++k) mean[k] += gradients[i][k] / static_cast<double>(to - from);
    }
    return mean;
  }

  // tr(Σ) / |G|² of these samples.
  double scale() const {
    const Vector all = mean(0, gradients.size());
    const double signal = std::inner_product(all.begin(), all.end(), all.begin(), 0.0);
    double squares = 0;
    for (const Vector& one : gradients) squares += std::inner_product(one.begin(), one.end(), one.begin(), 0.0);
    const auto count = static_cast<double>(gradients.size());
    return (squares - count * signal) / (count - 1) / signal;
  }

  // Sums over gradients of batches as epochs deal them, the first of which is the batch `first` of an epoch.
  GradientSums dealt(std::size_t batch, std::size_t first, std::mt19937_64& random) {
    const std::size_t per_epoch = gradients.size() / batch;
    GradientSums sums{
        .batch = static_cast<double>(batch), .epoch = static_cast<double>(gradients.size()), .per_group = per_group};
    std::vector<Vector> of_batches;
    for (std::size_t i = 0; i < noise_groups * per_group; ++i) {
      const std::size_t in_epoch = (first + i) % per_epoch;
      if (i == 0 || in_epoch == 0) std::ranges::shuffle(gradients, random);
      of_batches.push_back(mean(in_epoch * batch, (in_epoch + 1) * batch));
      for (std::size_t j = 0; j < i; ++j) {
        if ((first + i) / per_epoch != (first + j) / per_epoch) continue;
        ++sums.pairs[i / per_group][j / per_group];
        ++sums.pairs[j / per_group][i / per_group];
      }
    }
    add(sums, of_batches);
    return sums;
  }
};

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

TEST_CASE("the noise scale is found where the batches of an epoch share no sample, and its interval holds it") {
  const auto [samples, batch, first] =
      GENERATE(table<std::size_t, std::size_t, std::size_t>({{64, 32, 0},     // two batches an epoch
                                                             {100, 33, 0},    // three, and one sample left
                                                             {100, 60, 0},    // one
                                                             {256, 16, 5},    // two epochs and a bit
                                                             {400, 8, 0}}));  // half an epoch
  CAPTURE(samples, batch, first);
  std::mt19937_64 random(7);
  constexpr int repeats = 400;
  int inside = 0;
  double mean = 0;
  for (int i = 0; i < repeats; ++i) {
    Samples all(samples, random);
    const double truth = all.scale();
    const NoiseScale found = noise_scale(all.dealt(batch, first, random));
    inside += found.low <= truth && truth <= found.high ? 1 : 0;
    mean += found.value / truth / repeats;
  }
  CHECK(mean == Approx(1).epsilon(0.05));
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

// The share of noise in gradients, against closed forms.
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <functional>
#include <limits>

#include "stop/paired_gradients.h"
#include "support/stand_in_device.h"
#include "tensor/random.h"

namespace trainlab::paired_gradients_test {

using namespace test;

namespace {

constexpr std::int64_t weights = 40'000;

at::Tensor drawn(std::int64_t step, double mean = 0) {
  const at::Tensor out = at::empty({weights}, on_test_device());
  fill_normal(out, Key(3).fold(static_cast<std::uint64_t>(step)), mean, 1);
  return out;
}

using Gradient = std::function<at::Tensor(std::int64_t step)>;

void add_steps(PairedGradients& window, std::int64_t first, std::int64_t end, const Gradient& gradient) {
  for (std::int64_t step = first; step < end; ++step) {
    const at::Tensor one = gradient(step);
    window.add(step, {&one, 1}, {});
  }
}

double share_of(std::int64_t pairs, const Gradient& gradient) {
  PairedGradients window;
  add_steps(window, 0, 2 * pairs, gradient);
  return window.noise_share();
}

// The share of a weight with normal noise is twice a number of the distribution Beta(pairs/2, pairs/2).
double standard_error(std::int64_t pairs) { return 1 / std::sqrt(static_cast<double>((pairs + 1) * weights)); }

// The mean share where the expectation of a gradient is not 0: with X and Y of the chi-square distributions of (g − h)²
// and (g + h)², the second of which is noncentral by 2 · pairs · ratio, it is the mean of 2 X / (X + Y). Y is a mixture
// of central distributions by a Poisson distribution of mean pairs · ratio. `ratio`: expectation² / variance.
double expected_share(std::int64_t pairs, double ratio) {
  const auto m = static_cast<double>(pairs);
  double weight = std::exp(-m * ratio), sum = 0;
  for (int j = 0; j < 1000; ++j) {
    sum += weight * m / (m + j);
    weight *= m * ratio / (j + 1);
  }
  return sum;
}

NamedTensors copied(const NamedTensors& tensors) {
  NamedTensors all;
  for (const auto& [name, tensor] : tensors) all.emplace(name, tensor.clone());
  return all;
}

}  // namespace

TEST_CASE("noise alone is all of the gradients' squares, however few the pairs are") {
  for (const std::int64_t pairs : {1, 3, 10, 40}) {
    INFO(pairs);
    CHECK(std::abs(share_of(pairs, [](std::int64_t step) { return drawn(step); }) - 1) < 4 * standard_error(pairs));
  }
  // Weights whose gradients differ by powers of ten count alike.
  const auto uneven = [](std::int64_t step) { return at::stack({drawn(step), drawn(500 + step).mul(1e-6)}); };
  CHECK(std::abs(share_of(10, uneven) - 1) < 4 * standard_error(10));
}

TEST_CASE("gradients that come rarely are noise too") {
  // Few of the weights that count have two gradients in one pair, and all others have a share of exactly 1.
  const auto rare = [](std::int64_t step) {
    return drawn(step).mul(drawn(1000 + step).gt(2));  // one in 44
  };
  CHECK(std::abs(share_of(10, rare) - 1) < 0.003);
}

TEST_CASE("the share of noise falls with the signal as the closed form says") {
  for (const double ratio : {0.05, 0.3, 2.0}) {
    for (const std::int64_t pairs : {2, 10, 100}) {
      INFO(ratio << " " << pairs);
      const double found = share_of(pairs, [&](std::int64_t step) { return drawn(step, std::sqrt(ratio)); });
      CHECK(std::abs(found - expected_share(pairs, ratio)) < 4 * standard_error(pairs));
    }
    CHECK(expected_share(100, ratio) == Approx(1 / (1 + ratio)).epsilon(0.01));
  }
}

TEST_CASE("weights without a gradient do not count") {
  const Gradient all = [](std::int64_t step) { return drawn(step); };
  const Gradient half_dead = [](std::int64_t step) {
    const at::Tensor one = drawn(step);
    return at::stack({one, at::zeros_like(one)});
  };
  CHECK(share_of(5, half_dead) == Approx(share_of(5, all)).epsilon(1e-9));
  CHECK(std::isnan(share_of(5, [](std::int64_t step) { return at::zeros_like(drawn(step)); })));
  CHECK(std::isnan(PairedGradients().noise_share()));
}

TEST_CASE("a pair is an even step and the one behind it, and counts only if both are taken") {
  const Gradient all = [](std::int64_t step) { return drawn(step); };
  PairedGradients two, some;
  add_steps(two, 2, 4, all);
  add_steps(two, 8, 10, all);
  add_steps(some, 1, 5, all);   // 1 comes without its first step, 4 without its second
  add_steps(some, 7, 11, all);  // 10 waits for its second
  CHECK(some.noise_share() == two.noise_share());
  // On a device that computes behind the host, a tensor tells which steps are lost.
  const at::Tensor taken = at::zeros_like(drawn(0).slice(0, 0, 1)), lost = at::ones({1}, on_test_device());
  const at::Tensor infinite = drawn(0).mul(std::numeric_limits<double>::infinity());
  PairedGradients told;
  for (std::int64_t step = 0; step < 10; ++step) {
    const bool is_lost = step == 0 || step == 5 || step == 6 || step == 7;
    const at::Tensor one = is_lost ? infinite : drawn(step);
    told.add(step, {&one, 1}, is_lost ? lost : taken);
  }
  CHECK(told.noise_share() == two.noise_share());
}

TEST_CASE("pairs that come back from their tensors go on to the same share") {
  const Gradient all = [](std::int64_t step) { return drawn(step); };
  const double whole = share_of(3, all);
  for (std::int64_t cut = 0; cut <= 6; ++cut) {
    PairedGradients before, after;
    add_steps(before, 0, cut, all);
    after.restore(copied(before.tensors()));
    add_steps(after, cut, 6, all);
    CHECK(after.noise_share() == whole);
  }
}

}  // namespace trainlab::paired_gradients_test

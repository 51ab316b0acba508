// The cross-entropy in one pass against LibTorch's, in double.
#include "losses/softmax_costs.h"

#include <ATen/Parallel.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/tensor.h>
#include <torch/csrc/autograd/autograd.h>

#include <catch2/catch.hpp>
#include <limits>

#include "tensor/random.h"

namespace trainlab::softmax_costs_test {

namespace {

constexpr std::int64_t ignored = -100;

at::Tensor scores_of(std::int64_t rows, std::int64_t classes, double size) {
  at::Tensor scores = at::empty({rows, classes}, at::kFloat);
  fill_normal(scores, Key(7).fold("scores"), 0, size);
  return scores;
}

at::Tensor labels_of(std::int64_t rows, std::int64_t classes) {
  return at::arange(rows, at::kLong).mul(31).remainder(classes);
}

at::Tensor in_double(const at::Tensor& scores, const at::Tensor& labels) {
  return at::cross_entropy_loss(scores.to(at::kDouble), labels, {}, at::Reduction::None, ignored);
}

at::Tensor gradient(const at::Tensor& costs, const at::Tensor& of, const at::Tensor& upstream) {
  return torch::autograd::grad({costs}, {of}, {upstream}).front();
}

}  // namespace

TEST_CASE("costs and gradients of labels are those in double, to the rounding of floats") {
  const auto [rows, classes] =
      GENERATE(table<std::int64_t, std::int64_t>({{1, 1}, {7, 2}, {1024, 10}, {333, 65}, {5, 5000}, {0, 3}}));
  const double size = GENERATE(0.01, 1.0, 30.0);
  CAPTURE(rows, classes, size);
  const at::Tensor scores = scores_of(rows, classes, size).requires_grad_(true);
  at::Tensor labels = labels_of(rows, classes);
  if (rows > 2) labels[1].fill_(ignored);
  const at::Tensor costs = softmax_costs(scores, labels, ignored);
  const at::Tensor right = in_double(scores, labels);
  // The greatest score is subtracted first, so the error is that of differences of this size.
  CHECK(at::allclose(costs.to(at::kDouble), right, 1e-6, 2e-7 * (1 + size)));
  at::Tensor upstream = at::empty({rows}, at::kFloat);
  fill_uniform(upstream, Key(9), -1, 1);
  const at::Tensor slopes = gradient(costs, scores, upstream);
  CHECK(at::allclose(slopes.to(at::kDouble), gradient(right, scores, upstream.to(at::kDouble)).to(at::kDouble), 1e-5,
                     1e-7));
  if (rows > 2) CHECK(slopes[1].eq(0).all().item<bool>());
}

TEST_CASE("one gradient for all rows, as below a mean, is read as such") {
  const at::Tensor scores = scores_of(100, 10, 1).requires_grad_(true);
  const at::Tensor labels = labels_of(100, 10);
  const at::Tensor slopes = gradient(softmax_costs(scores, labels, ignored).mean(), scores, at::ones({}));
  const at::Tensor right = gradient(in_double(scores, labels).mean(), scores, at::ones({}, at::kDouble));
  CHECK(at::allclose(slopes, right, 1e-5, 1e-8));
}

TEST_CASE("scores at the ends of what a float holds") {
  constexpr float infinite = std::numeric_limits<float>::infinity(), none = std::numeric_limits<float>::quiet_NaN();
  const auto cost = [](std::vector<float> row, std::int64_t label) {
    const at::Tensor scores = at::tensor(row).unsqueeze(0);
    return softmax_costs(scores, at::full({1}, label, at::kLong), ignored).item<float>();
  };
  CHECK(cost({3e38F, -3e38F}, 0) == 0);
  CHECK(cost({1000, 0}, 1) == 1000);
  CHECK(cost({0, -infinite}, 0) == 0);
  CHECK(cost({0, -infinite}, 1) == infinite);
  CHECK(cost({-87.5F, 0}, 0) == Approx(87.5));
  CHECK(std::isnan(cost({infinite, 0}, 0)));
  CHECK(std::isnan(cost({none, 0}, 1)));
  CHECK(std::isnan(cost({0, none}, 0)));
}

TEST_CASE("a row that does not count has no gradient, whatever its scores are") {
  const at::Tensor scores = at::full({2, 3}, std::numeric_limits<float>::quiet_NaN());
  scores[0].fill_(1);
  scores.requires_grad_(true);
  const at::Tensor labels = at::tensor(std::vector<std::int64_t>{2, ignored});
  const at::Tensor costs = softmax_costs(scores, labels, ignored);
  CHECK(costs[1].item<float>() == 0);
  CHECK(gradient(costs, scores, at::ones_like(costs))[1].eq(0).all().item<bool>());
}

TEST_CASE("the gradient has a gradient") {
  const at::Tensor scores = scores_of(20, 4, 1).requires_grad_(true);
  at::Tensor labels = labels_of(20, 4);
  labels[3].fill_(ignored);
  const auto squared = [&](const at::Tensor& costs) {
    const at::Tensor slopes =
        torch::autograd::grad({costs.sum()}, {scores}, {}, /*retain_graph=*/true, /*create_graph=*/true).front();
    return torch::autograd::grad({slopes.pow(2).sum()}, {scores}).front();
  };
  const at::Tensor ours = squared(softmax_costs(scores, labels, ignored));
  CHECK(at::allclose(ours.to(at::kDouble), squared(in_double(scores, labels)).to(at::kDouble), 1e-4, 1e-6));
}

TEST_CASE("a label that is no class is refused") {
  const at::Tensor scores = scores_of(2, 3, 1);
  for (const std::int64_t label : {std::int64_t{3}, std::int64_t{-1}}) {
    const at::Tensor labels = at::full({2}, label, at::kLong);
    CHECK_THROWS_AS(softmax_costs(scores, labels, ignored), c10::IndexError);
  }
}

TEST_CASE("the bits do not depend on the number of threads") {
  const at::Tensor scores = scores_of(20'000, 10, 2), labels = labels_of(20'000, 10);
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const at::Tensor one = softmax_costs(scores, labels, ignored);
  at::set_num_threads(3);
  const at::Tensor three = softmax_costs(scores, labels, ignored);
  at::set_num_threads(threads);
  CHECK(at::equal(one, three));
}

}  // namespace trainlab::softmax_costs_test

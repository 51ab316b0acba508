#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "optim/clip.h"
#include "support/stand_in_device.h"

namespace trainlab::clip_test {

using trainlab::test::test_device;

namespace {

at::Tensor row(std::vector<double> values) { return at::tensor(values, at::kDouble).to(test_device()); }

}  // namespace

TEST_CASE("clip: a norm above the bound is scaled down to it") {
  const std::vector<at::Tensor> gradients = {row({3, 0}).view({1, 2}), at::Tensor(), row({-4})};
  const at::Tensor norm = clip_by_norm(gradients, 0.5, 0);
  CHECK(norm.dim() == 0);
  CHECK(norm.item<double>() == Approx(5).epsilon(1e-15));
  const double factor = 0.5 / (5 + 1e-6);
  CHECK(gradients[0].flatten()[0].item<double>() == Approx(3 * factor).epsilon(1e-15));
  CHECK(gradients[2].item<double>() == Approx(-4 * factor).epsilon(1e-15));
}

TEST_CASE("clip: a norm below the bound leaves the bytes") {
  const at::Tensor gradient = at::arange(7, at::kFloat).div(3);
  const at::Tensor before = gradient.clone();
  clip_by_norm(std::vector{gradient}, 100, 0);
  CHECK(at::equal(gradient, before));
}

TEST_CASE("clip: each member by its own norm") {
  // Norms 5 and 0.5; a member's slices over all tensors count, also of a tensor with one value a member.
  const std::vector<at::Tensor> gradients = {row({3, 0, 0, 0, 0.3, 0}).view({2, 3}), at::Tensor(), row({4, 0.4})};
  const at::Tensor norms = clip_by_norm(gradients, 1, 2);
  REQUIRE(norms.sizes() == at::IntArrayRef{2});
  CHECK(norms[0].item<double>() == Approx(5).epsilon(1e-15));
  CHECK(norms[1].item<double>() == Approx(0.5).epsilon(1e-15));
  const double factor = 1 / (5 + 1e-6);
  CHECK(gradients[0][0][0].item<double>() == Approx(3 * factor).epsilon(1e-15));
  CHECK(gradients[2][0].item<double>() == Approx(4 * factor).epsilon(1e-15));
  CHECK(gradients[0][1][1].item<double>() == 0.3);
  CHECK(gradients[2][1].item<double>() == 0.4);
}

TEST_CASE("clip: a member equals its solo clipping, whatever the strides") {
  const at::Tensor a = at::arange(120, at::kDouble).sin().view({2, 4, 15}).transpose(1, 2);
  const at::Tensor b = at::arange(10, at::kDouble).cos().view({2, 5});
  for (const bool dense_stack : {false, true}) {
    for (const bool dense_solo : {false, true}) {
      const std::vector<at::Tensor> stacked = {dense_stack ? a.contiguous() : a.clone(), b.clone()};
      REQUIRE(stacked[0].is_contiguous() == dense_stack);
      const at::Tensor norms = clip_by_norm(stacked, 0.7, 2);
      for (const std::int64_t m : {0, 1}) {
        const at::Tensor slice = a.select(0, m);
        const std::vector<at::Tensor> solo = {dense_solo ? slice.contiguous() : slice.clone(), b.select(0, m).clone()};
        const at::Tensor norm = clip_by_norm(solo, 0.7, 0);
        CHECK(norm.dim() == 0);
        CHECK(norms[m].item<double>() == Approx(norm.item<double>()).epsilon(1e-14));
        for (std::size_t i = 0; i < solo.size(); ++i)
          CHECK(stacked[i].select(0, m).sub(solo[i]).abs().max().item<double>() < 1e-15);
      }
    }
  }
}

TEST_CASE("clip: a norm that is not a number shows in the gradients") {
  for (const std::int64_t members : {0, 1}) {
    const at::Tensor gradient = row({1, std::nan("")}).view({1, 2});
    CHECK(clip_by_norm(std::vector{gradient}, 1, members).isnan().all().item<bool>());
    CHECK(gradient.isnan().all().item<bool>());
  }
}

TEST_CASE("clip: without any gradient the norms are zero") {
  CHECK(clip_by_norm(std::vector<at::Tensor>(2), 1, 0).item<double>() == 0);
  CHECK(at::equal(clip_by_norm(std::vector<at::Tensor>(2), 1, 3), at::full({3}, 0.0f)));
}

TEST_CASE("clip: by value, whatever the strides") {
  const at::Tensor dense = row({3, -0.2, -7, std::nan("")}), strided = row({3, 1, -7, 0.5}).view({2, 2}).t();
  clip_by_value(std::vector{dense, at::Tensor(), strided}, 0.5);
  CHECK(dense[0].item<double>() == 0.5);
  CHECK(dense[1].item<double>() == -0.2);
  CHECK(dense[2].item<double>() == -0.5);
  CHECK(std::isnan(dense[3].item<double>()));
  CHECK(at::equal(strided, row({0.5, 0.5, -0.5, 0.5}).view({2, 2}).t()));
}

}  // namespace trainlab::clip_test

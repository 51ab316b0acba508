#include <catch2/catch.hpp>

#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/isfinite.h>

#include <array>
#include <cmath>

#include "core/random/stream.h"
#include "support/stand_in_device.h"
#include "tensor/random.h"

namespace trainlab::random_tensors_test {

using trainlab::test::on_test_device;

namespace {

at::Tensor filled(at::IntArrayRef shape, at::ScalarType type, Key key) {
  const at::Tensor out = at::empty(shape, on_test_device(type));
  fill_uniform(out, key, -2, 3);
  return out.cpu();
}

}  // namespace

TEST_CASE("element i is made from word i (float32) or words 2i, 2i + 1 (float64) of the key's stream") {
  const Key key = Key(3).fold("uniform");
  // Longer than the pieces in which words are drawn.
  const at::Tensor single = filled({70, 101}, at::kFloat, key).flatten();
  const at::Tensor twice = filled({70, 101}, at::kDouble, key).flatten();
  Stream words(key), doubles(key);
  for (std::int64_t i = 0; i < 7070; ++i) {
    const auto expected = static_cast<float>(-2 + 5 * (words.next_u32() * 0x1p-32));
    REQUIRE(single.data_ptr<float>()[i] == expected);
    REQUIRE(twice.data_ptr<double>()[i] == -2 + 5 * doubles.uniform());
  }
}

TEST_CASE("uniform values stay below the upper bound after rounding") {
  // So narrow that half of the range rounds up to `high` in float32.
  const at::Tensor x = at::empty({4096}, on_test_device());
  const float high = std::nextafter(1.0F, 2.0F);
  fill_uniform(x, Key(1), 1.0, high);
  CHECK(x.min().item<float>() == 1.0F);
  CHECK(x.max().item<float>() < high);
}

TEST_CASE("normal draws: moments, and agreement with the scalar stream") {
  const Key key(11);
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const at::Tensor x = at::empty({200001}, on_test_device(type));
    fill_normal(x, key, 1.5, 2.0);
    const at::Tensor z = x.to(at::kDouble).sub(1.5).div(2.0);
    // Standard errors of the moments: 0.0022, 0.0032, 0.0087, 0.022; the bounds are five of them.
    CHECK(std::abs(z.mean().item<double>()) < 0.0112);
    CHECK(std::abs(z.pow(2).mean().item<double>() - 1) < 0.016);
    CHECK(std::abs(z.pow(3).mean().item<double>()) < 0.0435);
    CHECK(std::abs(z.pow(4).mean().item<double>() - 3) < 0.11);
    // Both halves of a pair, too: they must not be correlated.
    const at::Tensor even = z.slice(0, 0, 200000, 2), odd = z.slice(0, 1, 200000, 2);
    CHECK(std::abs(even.mul(odd).mean().item<double>()) < 0.016);
    CHECK(at::isfinite(x).all().item<bool>());
  }
  const at::Tensor odd = at::empty({3001}, on_test_device(at::kDouble));
  fill_normal(odd, key, 0, 1);
  const at::Tensor x = odd.cpu();
  Stream stream(key);
  // The logarithm and the sine of a GPU may differ from the CPU's in the last digit.
  const double rounding = test::test_device().is_cuda() ? 1e-15 : 0;
  for (std::int64_t i = 0; i < 3001; i += 2) REQUIRE(std::abs(x.data_ptr<double>()[i] - stream.normal()) <= rounding);
}

namespace {

std::array<double, 1> one(double p) { return {p}; }

}  // namespace

TEST_CASE("dropout: rate, scale, and the same elements for both types") {
  const at::Tensor x = at::empty({512, 256}, on_test_device());
  const std::array keys = {Key(5)};
  const at::Tensor m = dropout_multipliers(x.sizes(), x.options(), one(0.3), keys);
  REQUIRE(m.sizes() == x.sizes());
  const at::Tensor dropped = m.eq(0);
  // 131,072 draws: standard error 0.00127.
  CHECK(std::abs(dropped.to(at::kDouble).mean().item<double>() - 0.3) < 0.0064);
  CHECK(at::equal(m.masked_select(dropped.logical_not()),
                  at::empty({m.numel() - dropped.sum().item<std::int64_t>()}, x.options()).fill_(1 / (1 - 0.3))));

  const at::Tensor doubles = dropout_multipliers(x.sizes(), on_test_device(at::kDouble), one(0.3), keys);
  CHECK(at::equal(doubles.eq(0), dropped));
  CHECK(at::equal(dropout_multipliers(x.sizes(), x.options(), one(0.0), keys),
                  at::empty({512, 256}, x.options()).fill_(1)));
}

TEST_CASE("dropout uses half a word for each element, the lower one first") {
  const std::array keys = {Key(9)};
  const at::Tensor m =
      dropout_multipliers({4999}, on_test_device(), one(0.25), keys).cpu();  // odd, and longer than a piece
  Stream words(keys[0]);
  std::uint32_t word = 0;
  for (std::int64_t i = 0; i < 4999; ++i) {
    word = i % 2 == 0 ? words.next_u32() : word >> 16;
    REQUIRE(m.data_ptr<float>()[i] == ((word & 0xFFFF) < 0x4000 ? 0.0F : 1 / 0.75F));
  }
}

TEST_CASE("a member's slice has the bits of its solo draw") {
  const std::array keys = {Key(5), Key(6), Key(5).fold(1)};
  const std::array p = {0.5, 0.2, 0.0};
  // 33 · 7 elements: slices begin in the middle of a block.
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const at::Tensor all = dropout_multipliers({3, 33, 7}, on_test_device(type), p, keys);
    for (std::size_t m = 0; m < 3; ++m) {
      const at::Tensor solo =
          dropout_multipliers({33, 7}, on_test_device(type), std::span(p).subspan(m, 1), std::span(keys).subspan(m, 1));
      CHECK(at::equal(all.select(0, static_cast<std::int64_t>(m)), solo));
    }
    CHECK_FALSE(at::equal(all.select(0, 0), all.select(0, 1)));
  }
}

TEST_CASE("misuse is a programmer's error") {
  const std::array keys = {Key(1), Key(2)};
  CHECK_THROWS_AS(fill_uniform(at::empty({2}, on_test_device(at::kLong)), Key(1), 0, 1), std::logic_error);
  CHECK_THROWS_AS(fill_uniform(at::empty({2, 3}, on_test_device()).t(), Key(1), 0, 1), std::logic_error);
  CHECK_THROWS_AS(fill_uniform(at::empty({2}, on_test_device()), Key(1), 1, 1), std::logic_error);
  CHECK_THROWS_AS(dropout_multipliers({3, 4}, on_test_device(), one(0.5), keys), std::logic_error);
  CHECK_THROWS_AS(dropout_multipliers({3, 4}, on_test_device(), one(0.5), {}), std::logic_error);
}

}  // namespace trainlab::random_tensors_test

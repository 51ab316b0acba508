// The bodies of a GPU's kernels, run on the host: all threads together write the CPU's numbers, and touch nothing
// else.
#include "draw_blocks.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>

#include "tensor/random.h"

namespace trainlab::draw_blocks_test {

using namespace trainlab::cuda;

namespace {

constexpr std::int64_t beside = 16;
const Key key = Key(7).fold("blocks");

// Runs all blocks, and two threads more than there are blocks, over a tensor with `beside` elements behind it.
template <class T, class Make>
at::Tensor written(std::int64_t count, Make&& make) {
  const at::Tensor all = at::full({count + beside}, -9, c10::CppTypeToScalarType<T>::value);
  const auto blocks = make(all.data_ptr<T>());
  for (std::int64_t block = 0; block < count / blocks.each + 3; ++block) blocks(block);
  CHECK(all.slice(0, count).eq(-9).all().template item<bool>());
  return all.slice(0, 0, count);
}

template <class T>
void check_blocks(std::int64_t count) {
  const at::Tensor expected = at::empty({count}, c10::CppTypeToScalarType<T>::value);
  fill_uniform(expected, key, -2, 3);
  CHECK(written<T>(count, [&](T* out) { return UniformBlocks<T>{out, count, key.bits(), {-2, 3}}; }).equal(expected));
  fill_normal(expected, key, 1, 2);
  CHECK(written<T>(count, [&](T* out) { return NormalBlocks<T>{out, count, key.bits(), 1, 2}; }).equal(expected));
  CHECK(written<T>(count, [&](T* out) {
          return DropoutBlocks<T>{out, count, key.bits(), DropoutRate<T>(0.3)};
        }).equal(dropout_multipliers({count}, expected.options(), std::array{0.3}, std::array{key})));
}

}  // namespace

TEST_CASE("blocks of a kernel give the numbers of the CPU") {
  for (const std::int64_t count : {0, 1, 2, 3, 4, 5, 7, 8, 9, 4099}) {
    CAPTURE(count);
    check_blocks<float>(count);
    check_blocks<double>(count);
  }
}

TEST_CASE("a uniform number of a kernel stays below the upper bound after rounding") {
  const float high = std::nextafter(1.0F, 2.0F);
  const at::Tensor x = written<float>(4096, [&](float* out) {
    return UniformBlocks<float>{out, 4096, key.bits(), {1.0, high}};
  });
  CHECK(x.min().item<float>() == 1.0F);
  CHECK(x.max().item<float>() < high);
}

}  // namespace trainlab::draw_blocks_test

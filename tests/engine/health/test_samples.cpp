// The values that the watch reads of tensors: the same in memory of any order, and the same as the operators would
// take.
#include "watch/samples.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>

#include <catch2/catch.hpp>

namespace trainlab::samples_test {

namespace {

// A tensor of this shape, whose values are all different.
at::Tensor counted(at::IntArrayRef shape) {
  return at::arange(c10::multiply_integers(shape), at::TensorOptions().dtype(at::kFloat)).reshape(shape);
}

}  // namespace

TEST_CASE("rows are read at the spacing of each axis, with the units last") {
  const at::Tensor images = counted({5, 6, 7, 9});
  const at::Tensor wanted =
      images.slice(0, 0, 5, 2).slice(2, 0, 7, 3).slice(3, 0, 9, 4).movedim(1, -1).reshape({-1, 6});
  CHECK(at::equal(sample_rows(images, 1, {2, 1, 3, 4}), wanted));
  // Values of other types are read by operators.
  CHECK(at::equal(sample_rows(images.to(at::kDouble), 1, {2, 1, 3, 4}), wanted));
  // Channels that come last in memory.
  const at::Tensor last = images.contiguous(at::MemoryFormat::ChannelsLast);
  CHECK(at::equal(sample_rows(last, 1, {2, 1, 3, 4}), wanted));
  CHECK(at::equal(sample_rows(counted({4, 3}), 1, {3, 2}), counted({4, 3}).slice(0, 0, 4, 3).slice(1, 0, 3, 2)));
  CHECK(sample_rows(counted({0, 3}), 1, {1, 1}).size(0) == 0);
}

TEST_CASE("a sample of an activation has the rows and units that its size tells") {
  for (const auto& [shape, axis] :
       {std::pair<std::vector<std::int64_t>, std::int64_t>{{300, 1000}, 1}, {{40, 12, 9, 9}, 1}, {{40, 30, 24}, 2}}) {
    const at::Tensor sample = sample_units(counted(shape), axis);
    CHECK(sample.numel() == sampled_unit_values(shape, axis));
    CHECK(sample.size(0) <= 16 * 8 * 3);
    CHECK(sample.size(1) <= 512);
  }
}

TEST_CASE("a number on the host is the one at its place, of any type and in memory of any order") {
  const at::Tensor column = counted({4, 3}).select(1, 2);
  CHECK(host_number(column, 3) == 11);
  CHECK(host_number(column.to(at::kDouble), 3) == 11);
  CHECK(host_number(column[1]) == 5);
  CHECK(host_number(column[1].to(at::kBFloat16)) == 5);
}

}  // namespace trainlab::samples_test

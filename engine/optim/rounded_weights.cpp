#include "rounded_weights.h"

#include <algorithm>

#include "core/clones.h"
#include "elements.h"

namespace trainlab {
namespace {

TRAINLAB_INLINE void add_rest(const std::uint16_t* __restrict rest, float* __restrict values, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) values[i] += wide(rest[i]);
}

TRAINLAB_INLINE void divide(const float* __restrict values, std::uint16_t* __restrict stored,
                            std::uint16_t* __restrict rest, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    stored[i] = nearest_bfloat16(values[i]);
    const float left = values[i] - wide(stored[i]);
    rest[i] = left - left == 0 ? nearest_bfloat16(left) : std::uint16_t{0};  // infinite weights leave none
  }
}

template <class T>
T* of_block(T* all, std::int64_t block) {
  return all + block * lean_block;
}

std::int64_t block_size(const RoundedWeights& weights, std::int64_t block) {
  return std::min(lean_block, weights.rest.numel() - block * lean_block);
}

}  // namespace

TRAINLAB_CLONES void read_block(const RoundedWeights& weights, std::int64_t block, float* values) {
  read_block(weights.stored, block, values);
  if (!weights.rest.defined()) return;
  const auto* const rest = static_cast<const std::uint16_t*>(weights.rest.const_data_ptr());
  add_rest(of_block(rest, block), values, block_size(weights, block));
}

TRAINLAB_CLONES void write_block(const RoundedWeights& weights, std::int64_t block, const float* values) {
  if (!weights.rest.defined()) return write_block(weights.stored, block, values);
  auto* const stored = static_cast<std::uint16_t*>(weights.stored.values.mutable_data_ptr());
  auto* const rest = static_cast<std::uint16_t*>(weights.rest.mutable_data_ptr());
  divide(values, of_block(stored, block), of_block(rest, block), block_size(weights, block));
}

}  // namespace trainlab

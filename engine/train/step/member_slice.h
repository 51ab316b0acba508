#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>

namespace trainlab {

// The slice of one member of a tensor with a member axis; the whole tensor without such an axis.
inline at::Tensor member_slice(const at::Tensor& tensor, bool per_member, std::size_t member) {
  return per_member ? tensor.select(0, static_cast<std::int64_t>(member)) : tensor;
}

}  // namespace trainlab

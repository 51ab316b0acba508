// Buffers: memory for chunks, used again once no tensor looks at it any more.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <mutex>
#include <vector>

#include "tensor/device.h"

namespace trainlab {

class Buffers {
 public:
  // Keeps at most `keep` buffers of `bytes` bytes; further ones belong to their tensors alone. `device` will take what
  // the buffers hold.
  Buffers(const Device& device, std::size_t bytes, std::size_t keep) : device_(device), bytes_(bytes), keep_(keep) {}

  // 64-byte aligned, of unspecified content, seen by nobody else. Thread-safe.
  c10::Storage take();

 private:
  const Device& device_;
  const std::size_t bytes_, keep_;
  std::mutex mutex_;
  std::vector<c10::Storage> kept_;
};

// A tensor of its own on memory of `storage`, `offset` bytes from its begin (a multiple of the item size); strides in
// elements. Not a view in the sense of autograd. Costs no dispatch.
at::Tensor tensor_on(const c10::Storage& storage, at::ScalarType type, std::size_t offset, at::IntArrayRef sizes,
                     at::IntArrayRef strides);

}  // namespace trainlab

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

  // A buffer, 64-byte aligned, of unspecified content, that no other tensor uses. Thread-safe.
  c10::Storage take();

 private:
  const Device& device_;
  const std::size_t bytes_, keep_;
  std::mutex mutex_;
  std::vector<c10::Storage> kept_;
};

// A tensor on memory of `storage`, `offset` bytes (a multiple of the item size) from its beginning; strides are in
// elements. The tensor is not a view in the sense of autograd. Making it costs no dispatch.
at::Tensor tensor_on(const c10::Storage& storage, at::ScalarType type, std::size_t offset, at::IntArrayRef sizes,
                     at::IntArrayRef strides);

}  // namespace trainlab

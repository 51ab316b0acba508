#include "buffers.h"

#include <c10/core/TensorImpl.h>

#include <algorithm>
#include <atomic>

namespace trainlab {

c10::Storage Buffers::take() {
  const std::lock_guard lock(mutex_);
  for (c10::Storage& storage : kept_) {
    if (storage.use_count() != 1) continue;
    // use_count() is a relaxed load: the fence orders our writes after the last reader's.
    std::atomic_thread_fence(std::memory_order_acquire);
    return storage;
  }
  c10::Storage storage = device_.host_buffer(bytes_);
  if (kept_.size() == keep_) kept_.erase(kept_.begin());
  kept_.push_back(storage);
  return storage;
}

at::Tensor tensor_on(const c10::Storage& storage, at::ScalarType type, std::size_t offset, at::IntArrayRef sizes,
                     at::IntArrayRef strides) {
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), c10::scalarTypeToTypeMeta(type));
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides,
                                                      static_cast<std::int64_t>(offset / c10::elementSize(type)));
  return tensor;
}

}  // namespace trainlab

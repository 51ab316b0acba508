#include "tensor/device.h"

#include <ATen/native/CPUFallback.h>
#include <ATen/ops/empty.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "host_random.h"
#include "tensor/generator.h"

namespace trainlab {

TensorMemory Device::memory() const {
  auto* const allocator = dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(place_.type()));
  if (allocator == nullptr || !allocator->initialized()) return {};
  const auto stats = allocator->getDeviceStats(place_.index());
  const auto& all = stats.allocated_bytes[static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
  return {.live = all.current, .peak = all.peak};
}

c10::Storage Device::host_buffer(std::size_t bytes) const {
  const MemoryCharge charge(MemoryUse::batches);
  return at::empty({static_cast<std::int64_t>(bytes)}, at::kByte).storage();
}

void Device::take(std::vector<at::Tensor>& columns) const {
  const c10::impl::VirtualGuardImpl device(place_.type());
  Copy copy{c10::Event(place_.type()), columns};
  for (at::Tensor& column : columns) column = column.to(place_, /*non_blocking=*/true);
  copy.done.record(device.getStream(place_));
  const std::lock_guard lock(copies_mutex_);
  std::erase_if(copies_, [](const Copy& earlier) { return earlier.done.query(); });
  copies_.push_back(std::move(copy));
}

void Device::fill_uniform(const at::Tensor& out, Key key, double low, double high) const {
  const at::Tensor drawn = at::empty(out.sizes(), out.scalar_type());
  host::fill_uniform(drawn, key, low, high);
  out.copy_(drawn);
}

void Device::fill_normal(const at::Tensor& out, Key key, double mean, double deviation) const {
  const at::Tensor drawn = at::empty(out.sizes(), out.scalar_type());
  host::fill_normal(drawn, key, mean, deviation);
  out.copy_(drawn);
}

at::Tensor Device::dropout_multipliers(at::IntArrayRef shape, at::ScalarType type, std::span<const double> p,
                                       std::span<const Key> keys) const {
  return host::dropout_multipliers(shape, type, p, keys).to(place_);
}

void Device::draw(const c10::OperatorHandle& op, torch::jit::Stack& stack, std::size_t generator, Key key) const {
  stack[generator] = keyed_generator(key);
  at::native::cpu_fallback(op, &stack);
}

}  // namespace trainlab

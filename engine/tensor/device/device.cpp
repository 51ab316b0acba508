#include "tensor/device.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "core/trace.h"
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

void Device::wait() const { c10::impl::VirtualGuardImpl(place_.type()).synchronizeDevice(place_.index()); }

c10::Storage Device::host_buffer(std::size_t bytes) const {
  const MemoryCharge charge(MemoryUse::batches);
  return at::empty({static_cast<std::int64_t>(bytes)}, at::kByte).storage();
}

void Device::forget_done_copies() const {
  const std::lock_guard lock(copies_mutex_);
  std::erase_if(copies_, [](const Copy& one) { return one.is_recorded && one.done.query(); });
}

void Device::take(std::vector<at::Tensor>& columns) const {
  const Span span(Phase::move);
  forget_done_copies();  // first, because a device that has failed raises here
  const c10::impl::VirtualGuardImpl device(place_.type());
  // The list holds the host's tensors before their copies begin, so that even after an error they live long enough.
  Copy* const copy = [&] {
    const std::lock_guard lock(copies_mutex_);
    return &copies_.emplace_back(Copy{c10::Event(place_.type()), columns});
  }();
  const auto record = [&] {
    const std::lock_guard lock(copies_mutex_);
    copy->done.record(device.getStream(place_));
    copy->is_recorded = true;
  };
  std::vector<at::Tensor> moved;
  try {
    for (const at::Tensor& column : columns) moved.push_back(column.to(place_, /*non_blocking=*/true));
  } catch (...) {
    const std::exception_ptr failed = std::current_exception();
    try {
      record();
    } catch (const c10::Error&) {
      // A device that cannot record has failed; the error of the copy is raised, which came first.
    }
    std::rethrow_exception(failed);
  }
  record();
  columns = std::move(moved);
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

at::Tensor Device::bernoulli(at::IntArrayRef shape, at::ScalarType type, double probability, Key key) const {
  return at::empty(shape, type).bernoulli_(probability, keyed_generator(key)).to(place_);
}

// Runs the operator on copies on the host, which autograd records. LibTorch's own fallback to the CPU works below
// autograd; for an operator that writes to a tensor, it also needs an operator that few devices have.
void Device::draw(const c10::OperatorHandle& op, std::vector<c10::IValue>& stack, std::size_t generator,
                  Key key) const {
  const auto& arguments = op.schema().arguments();
  const auto& returns = op.schema().returns();
  struct Written {
    const c10::AliasInfo* alias;
    at::Tensor here, on_host;
  };
  std::vector<Written> all_written;
  for (std::size_t i = 0; i < stack.size(); ++i) {
    c10::IValue& value = stack[i];
    if (value.isDevice()) value = at::Device(at::kCPU);
    if (!value.isTensor() || !value.toTensor().defined() || value.toTensor().is_cpu()) continue;
    const at::Tensor here = value.toTensor();
    const at::Tensor on_host = here.to(at::kCPU);
    value = on_host;
    const c10::AliasInfo* const alias = arguments[i].alias_info();
    if (alias != nullptr && alias->isWrite()) all_written.push_back({alias, here, on_host});
  }
  stack[generator] = keyed_generator(key);
  op.callBoxed(stack);
  for (const Written& written : all_written) written.here.copy_(written.on_host);
  for (std::size_t i = 0; i < stack.size(); ++i) {
    const c10::AliasInfo* const alias = returns[i].alias_info();
    const auto same = std::ranges::find_if(
        all_written, [&](const Written& written) { return alias != nullptr && *alias == *written.alias; });
    if (same != all_written.end()) {
      stack[i] = same->here;
    } else if (stack[i].isTensor() && stack[i].toTensor().defined()) {
      stack[i] = stack[i].toTensor().to(place_);
    }
  }
}

}  // namespace trainlab

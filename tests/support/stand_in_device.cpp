#include "support/stand_in_device.h"

#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/gru.h>
#include <ATen/ops/gru_cell.h>
#include <ATen/ops/lstm.h>
#include <ATen/ops/lstm_cell.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "core/random/stream.h"
#include "tensor/device.h"
#include "tensor/memory.h"
#include "tensor/types.h"

namespace trainlab::test {

namespace {

constexpr auto stand_in = c10::DeviceType::PrivateUse1;
constexpr auto stand_in_key = c10::DispatchKey::PrivateUse1;

// An address of the stand-in's memory is that of host memory with a bit that no valid address has: code that reads a
// tensor through a bare pointer without asking where the tensor lives crashes at once, as on a GPU.
constexpr std::uintptr_t mark = std::uintptr_t{1} << 62;
void* sealed(void* p) { return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(p) | mark); }
void* opened(const void* p) { return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(p) & ~mark); }

constexpr c10::DeviceIndex devices = 2;
thread_local c10::DeviceIndex current = 0;

// What is left of the device's life (LostDevice), in calls; negative: the device stays.
std::atomic<std::int64_t> calls_left{-1};
std::atomic<bool> has_raised{false};

void use() {
  if (calls_left < 0) return;
  if (calls_left > 0) {
    --calls_left;
    return;
  }
  has_raised = true;
  throw c10::AcceleratorError(
      {__func__, __FILE__, __LINE__}, 1,
      "stand-in error: the device is not there any more\nwhat a driver adds on lines of its own");
}

std::array<MemoryCount, devices> counts;

std::atomic<int> reads{0};

// The bytes of a full device (FullDevice); negative: as many as are asked for.
std::atomic<std::int64_t> room{-1};

class StandInMemory final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    use();
    if (bytes == 0) return {nullptr, at::Device(stand_in, current)};
    const Block block{current_memory_use(), static_cast<std::int64_t>(bytes), current};
    MemoryCount& count = counts[static_cast<std::size_t>(current)];
    count.check(block.use, block.bytes);
    if (room >= 0 && count.live() + block.bytes > room) {
      throw c10::OutOfMemoryError({__func__, __FILE__, __LINE__}, "stand-in out of memory. Tried to allocate " +
                                                                      std::to_string(bytes) + " bytes. More");
    }
    auto* const begin = static_cast<std::byte*>(std::aligned_alloc(before, before + (bytes + 63) / 64 * 64));
    std::memcpy(begin, &block, sizeof block);
    count.add(block.use, block.bytes);
    void* const p = sealed(begin + before);
    return {p, p, free_block, at::Device(stand_in, current)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return free_block; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(opened(to), opened(from), bytes);
  }

 private:
  // Stands in front of the memory that was asked for.
  struct Block {
    MemoryUse use;
    std::int64_t bytes;
    c10::DeviceIndex device;
  };
  static constexpr std::size_t before = 64;

  static void free_block(void* p) {
    if (p == nullptr) return;
    std::byte* const begin = static_cast<std::byte*>(opened(p)) - before;
    Block block{};
    std::memcpy(&block, begin, sizeof block);
    counts[static_cast<std::size_t>(block.device)].remove(block.use, block.bytes);
    std::free(begin);
  }
};

StandInMemory& memory() {
  static StandInMemory one;
  return one;
}

// The same memory as a tensor of the CPU.
at::Tensor on_host(const at::Tensor& t) {
  if (!t.defined() || t.device().is_cpu()) return t;
  const auto values = static_cast<std::int64_t>(t.storage().nbytes() / t.element_size());
  return at::from_blob(
             opened(t.storage().data()), {values}, [kept = t.storage()](void*) {}, t.options().device(at::kCPU))
      .as_strided(t.sizes(), t.strides(), t.storage_offset());
}

// What a kernel of the CPU has made, as a tensor of the current device: its values in the device's memory; the same
// memory if that is on_host()'s, which alone cannot be resized.
at::Tensor on_device(const at::Tensor& t) {
  if (!t.defined()) return t;
  const c10::Storage& storage = t.storage();
  c10::DataPtr data(nullptr, at::Device(stand_in, current));
  if (storage.nbytes() > 0 && storage.resizable()) {
    data = memory().allocate(storage.nbytes());
    memory().copy_data(data.get(), storage.data(), storage.nbytes());
  } else if (storage.nbytes() > 0) {
    data = {sealed(storage.mutable_data()), new c10::Storage(storage),
            [](void* kept) { delete static_cast<c10::Storage*>(kept); }, at::Device(stand_in, current)};
  }
  at::Tensor made = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(c10::Storage::use_byte_size_t(), storage.nbytes(), std::move(data), &memory(), /*resizable=*/true),
      c10::DispatchKeySet(stand_in_key), t.dtype());
  made.unsafeGetTensorImpl()->set_sizes_and_strides(t.sizes(), t.strides(), t.storage_offset());
  return made;
}

// Copies from the host that need not be done yet as far as the program can know. An event is over when two more have
// been recorded, and so are the copies that were begun before the event: until then nobody may write to their memory.
class LateCopies {
 public:
  void begin(const at::Tensor& host) {
    const std::lock_guard lock(mutex_);
    copies_.push_back({events_ + 1, host.storage().getWeakStorageImpl(), host.storage_offset(), host.sizes().vec(),
                       host.strides().vec(), host.detach().clone()});
  }
  std::uintptr_t record() {
    const std::lock_guard lock(mutex_);
    return ++events_;
  }
  bool is_over(std::uintptr_t event) {
    const std::lock_guard lock(mutex_);
    if (event + 2 > events_) return false;
    const char* fault = nullptr;
    std::erase_if(copies_, [&](const Copy& copy) {
      if (copy.event > event) return false;
      if (const char* const found = copy.fault()) fault = found;
      return true;
    });
    if (fault != nullptr)
      throw std::logic_error("memory of the host was " + std::string(fault) +
                             " before its copy to the device was done");
    return true;
  }

 private:
  struct Copy {
    std::uintptr_t event;
    c10::weak_intrusive_ptr<c10::StorageImpl> host;
    std::int64_t offset;
    std::vector<std::int64_t> sizes, strides;
    at::Tensor content;

    const char* fault() const {
      const c10::intrusive_ptr<c10::StorageImpl> held = host.lock();
      if (!held) return "freed";
      const at::Tensor now = at::empty({0}, content.options()).set_(c10::Storage(held), offset, sizes, strides);
      return now.allclose(content, 0, 0, /*equal_nan=*/true) ? nullptr : "written to";
    }
  };
  std::mutex mutex_;
  std::uintptr_t events_ = 0;
  std::vector<Copy> copies_;
};

LateCopies& late_copies() {
  static LateCopies one;
  return one;
}

// Two devices with one stream each, on which everything but a copy from the host has been done when a call returns.
class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return stand_in; }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device before = getDevice();
    setDevice(device);
    return before;
  }
  c10::Device getDevice() const override { return {stand_in, current}; }
  void setDevice(c10::Device device) const override { uncheckedSetDevice(device); }
  void uncheckedSetDevice(c10::Device device) const noexcept override { current = device.index(); }
  c10::Stream getStream(c10::Device device) const override { return c10::Stream(c10::Stream::DEFAULT, device); }
  c10::Stream getDefaultStream(c10::Device device) const override { return getStream(device); }
  c10::Stream exchangeStream(c10::Stream stream) const override { return stream; }
  c10::DeviceIndex deviceCount() const noexcept override { return devices; }
  void record(void** event, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {
    *event = reinterpret_cast<void*>(late_copies().record());
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void* event) const override { return late_copies().is_over(reinterpret_cast<std::uintptr_t>(event)); }
  void destroyEvent(void*, const c10::DeviceIndex) const noexcept override {}
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
  void synchronizeDevice(const c10::DeviceIndex) const override {}
};

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return devices; }
  c10::DeviceIndex getCurrentDevice() const override { return current; }
};

// "stand_in" without an index is the current device.
at::Device place_of(std::optional<at::Device> device) {
  return {stand_in, device && device->has_index() ? device->index() : current};
}

at::Tensor empty(c10::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                 std::optional<at::Device> device, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  const c10::DeviceGuard there(place_of(device));
  return at::detail::empty_generic(size, &memory(), c10::DispatchKeySet(stand_in_key), c10::dtype_or_default(dtype),
                                   format);
}

at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef strides, std::optional<at::ScalarType> dtype,
                         std::optional<at::Layout>, std::optional<at::Device> device, std::optional<bool>) {
  const c10::DeviceGuard there(place_of(device));
  return at::detail::empty_strided_generic(size, strides, &memory(), c10::DispatchKeySet(stand_in_key),
                                           c10::dtype_or_default(dtype));
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
  use();
  if (non_blocking && from.device().is_cpu() && from.numel() > 0) late_copies().begin(from);
  if (to.device().is_cpu() && from.numel() > 0) ++reads;
  if (to.numel() > 0) on_host(to).copy_(on_host(from));
  return to;
}

const at::Tensor& resized(const at::Tensor& self, c10::IntArrayRef size, std::optional<at::MemoryFormat> format) {
  at::TensorImpl* const tensor = self.unsafeGetTensorImpl();
  const std::size_t bytes =
      at::detail::computeStorageNbytesContiguous(size, self.element_size(), self.storage_offset());
  c10::StorageImpl* const storage = tensor->unsafe_storage().unsafeGetStorageImpl();
  if (storage->nbytes() < bytes) {
    const c10::DeviceGuard there(self.device());
    c10::DataPtr data = memory().allocate(bytes);
    if (storage->nbytes() > 0) memory().copy_data(data.get(), storage->data(), storage->nbytes());
    storage->set_data_ptr_noswap(std::move(data));
    storage->set_nbytes(bytes);
  }
  tensor->generic_set_sizes_contiguous(size);
  if (format && *format != at::MemoryFormat::Preserve) tensor->empty_tensor_restride(*format);
  return self;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  if (to.sizes() != from.sizes()) resized(to, from.sizes(), std::nullopt);
  return copy_from(from, to, false);
}

at::Scalar local_scalar(const at::Tensor& self) {
  ++reads;
  return on_host(self).item();
}

void check_same(at::Device place, at::TensorList tensors) {
  for (const at::Tensor& t : tensors) {
    TORCH_CHECK(!t.defined() || t.device() == place,
                "Expected all tensors to be on the same device, but found at least two devices, ", place, " and ",
                t.device(), "!");
  }
}

at::Tensor convolution(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                       c10::IntArrayRef stride, c10::IntArrayRef padding, c10::IntArrayRef dilation, bool transposed,
                       c10::IntArrayRef output_padding, std::int64_t groups) {
  use();
  check_same(x.device(), {x, weight, bias.value_or(at::Tensor())});
  const c10::DeviceGuard there(x.device());
  const auto host_bias = bias && bias->defined() ? std::optional(on_host(*bias)) : std::nullopt;
  return on_device(at::convolution(on_host(x), on_host(weight), host_bias, stride, padding, dilation, transposed,
                                   output_padding, groups));
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward(const at::Tensor& gradient, const at::Tensor& x,
                                                                    const at::Tensor& weight, c10::IntArrayRef stride,
                                                                    c10::IntArrayRef padding, c10::IntArrayRef dilation,
                                                                    bool transposed, c10::IntArrayRef output_padding,
                                                                    std::int64_t groups, std::array<bool, 3> mask) {
  use();
  check_same(x.device(), {gradient, x, weight});
  const c10::DeviceGuard there(x.device());
  const std::array bias{gradient.size(1)};
  const auto [a, b, c] = at::convolution_backward(on_host(gradient), on_host(x), on_host(weight), at::IntArrayRef(bias),
                                                  stride, padding, dilation, transposed, output_padding, groups, mask);
  return {on_device(a), on_device(b), on_device(c)};
}

// LibTorch takes fused cells for these on any other device than the CPU; here they run on the CPU as a whole, and
// autograd goes through the copies.
std::vector<at::Tensor> on_cpu(at::TensorList tensors) {
  std::vector<at::Tensor> moved;
  for (const at::Tensor& t : tensors) moved.push_back(t.cpu());
  return moved;
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm(const at::Tensor& x, at::TensorList start, at::TensorList weights,
                                                    bool bias, std::int64_t layers, double dropout, bool training,
                                                    bool both_ways, bool batch_first) {
  check_same(x.device(), start);
  check_same(x.device(), weights);
  const auto [y, h, c] =
      at::lstm(x.cpu(), on_cpu(start), on_cpu(weights), bias, layers, dropout, training, both_ways, batch_first);
  return {y.to(x.device()), h.to(x.device()), c.to(x.device())};
}

std::tuple<at::Tensor, at::Tensor> gru(const at::Tensor& x, const at::Tensor& start, at::TensorList weights, bool bias,
                                       std::int64_t layers, double dropout, bool training, bool both_ways,
                                       bool batch_first) {
  check_same(x.device(), start);
  check_same(x.device(), weights);
  const auto [y, h] =
      at::gru(x.cpu(), start.cpu(), on_cpu(weights), bias, layers, dropout, training, both_ways, batch_first);
  return {y.to(x.device()), h.to(x.device())};
}

using Bias = std::optional<at::Tensor>;
Bias on_cpu(const Bias& bias) { return bias ? Bias(bias->cpu()) : std::nullopt; }

std::tuple<at::Tensor, at::Tensor> lstm_cell(const at::Tensor& x, at::TensorList state, const at::Tensor& inputs,
                                             const at::Tensor& states, const Bias& input_bias, const Bias& state_bias) {
  check_same(x.device(), state);
  check_same(x.device(), {inputs, states});
  const auto [h, c] =
      at::lstm_cell(x.cpu(), on_cpu(state), inputs.cpu(), states.cpu(), on_cpu(input_bias), on_cpu(state_bias));
  return {h.to(x.device()), c.to(x.device())};
}

at::Tensor gru_cell(const at::Tensor& x, const at::Tensor& state, const at::Tensor& inputs, const at::Tensor& states,
                    const Bias& input_bias, const Bias& state_bias) {
  check_same(x.device(), {state, inputs, states});
  return at::gru_cell(x.cpu(), state.cpu(), inputs.cpu(), states.cpu(), on_cpu(input_bias), on_cpu(state_bias))
      .to(x.device());
}

// An argument for the CPU's kernel. A tensor that it may have to resize before it writes to it is made anew there.
c10::IValue for_host(const c10::IValue& value, const c10::AliasInfo* alias) {
  const auto moved = [&](const at::Tensor& t) {
    const bool is_written = alias && alias->isWrite() && t.defined() && t.numel() == 0 && !t.device().is_cpu();
    return is_written ? at::empty(t.sizes(), t.options().device(at::kCPU)) : on_host(t);
  };
  if (value.isTensor()) return moved(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> all;
    for (const at::Tensor& t : value.toTensorVector()) all.push_back(moved(t));
    return all;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> all;
    for (const std::optional<at::Tensor>& t : value.toOptionalTensorVector())
      all.push_back(t ? std::optional(moved(*t)) : std::nullopt);
    return all;
  }
  if (value.isDevice()) return at::Device(at::kCPU);
  return value;
}

c10::IValue for_device(const c10::IValue& value) {
  if (value.isTensor()) return on_device(value.toTensor());
  if (!value.isTensorList()) return value;
  c10::List<at::Tensor> all;
  for (const at::Tensor& t : value.toTensorVector()) all.push_back(on_device(t));
  return all;
}

// The device of an operator's results: that of the first tensor, or the device that is asked for.
at::Device place_of(const std::vector<c10::IValue>& arguments) {
  std::optional<at::Device> asked;
  for (const c10::IValue& value : arguments) {
    if (value.isTensor() && value.toTensor().defined() && !value.toTensor().device().is_cpu())
      return value.toTensor().device();
    if (value.isTensorList()) {
      for (const at::Tensor& t : value.toTensorVector()) {
        if (t.defined() && !t.device().is_cpu()) return t.device();
      }
    }
    if (value.isDevice()) asked = value.toDevice();
  }
  return place_of(asked);
}

// As CUDA's kernels ask of their arguments: a tensor of the host may stand beside the device's where it is a single
// number that is only read, and where it says which rows are meant.
void check_place(const c10::IValue& value, const c10::AliasInfo* alias, at::Device place) {
  const bool is_written = alias && alias->isWrite();
  const auto check = [&](const at::Tensor& t) {
    if (t.defined() && (t.dim() > 0 || is_written || !t.device().is_cpu())) check_same(place, t);
  };
  if (value.isTensor()) check(value.toTensor());
  if (value.isTensorList()) {
    for (const at::Tensor& t : value.toTensorVector()) check(t);
  }
  if (value.isOptionalTensorList()) {
    for (const std::optional<at::Tensor>& t : value.toOptionalTensorVector()) {
      if (t && !t->device().is_cpu()) check(*t);
    }
  }
}

// All other operators: the CPU's kernels over the same memory. What they write to is returned as the tensor that it is.
void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  use();
  const c10::FunctionSchema& schema = op.schema();
  const auto& arguments = schema.arguments();
  const std::vector<c10::IValue> given = torch::jit::pop(*stack, arguments.size());
  const at::Device place = place_of(given);
  const c10::DeviceGuard there(place);
  std::vector<c10::IValue> used;
  for (std::size_t i = 0; i < given.size(); ++i) {
    check_place(given[i], arguments[i].alias_info(), place);
    used.push_back(for_host(given[i], arguments[i].alias_info()));
    stack->push_back(used.back());
  }
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  const auto is_written = [&](std::size_t i) {
    return arguments[i].alias_info() && arguments[i].alias_info()->isWrite();
  };
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!is_written(i) || !given[i].isTensor() || !given[i].toTensor().defined()) continue;
    if (const at::Tensor& target = given[i].toTensor(), &result = used[i].toTensor(); result.numel() != target.numel())
      copy_from_and_resize(result, target);
  }
  const auto& returns = schema.returns();
  const std::size_t first = stack->size() - returns.size();
  for (std::size_t r = 0; r < returns.size(); ++r) {
    c10::IValue& result = (*stack)[first + r];
    std::size_t same = given.size();
    for (std::size_t i = 0; i < given.size() && same == given.size(); ++i) {
      if (returns[r].alias_info() && is_written(i) && *returns[r].alias_info() == *arguments[i].alias_info()) same = i;
    }
    result = same < given.size() ? given[same] : for_device(result);
  }
}

void register_operators() {
  static torch::Library others(torch::Library::IMPL, "_", stand_in_key, __FILE__, __LINE__);
  others.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
  static torch::Library own(torch::Library::IMPL, "aten", stand_in_key, __FILE__, __LINE__);
  own.impl("empty.memory_format", empty);
  own.impl("empty_strided", empty_strided);
  own.impl("_copy_from", copy_from);
  own.impl("_local_scalar_dense", local_scalar);
  own.impl("resize_", resized);
  own.impl("as_strided", at::native::as_strided_tensorimpl);
  own.impl("view", at::native::view);
  own.impl("_reshape_alias", at::native::_reshape_alias);
  own.impl("unfold", at::native::unfold);
  own.impl("convolution_overrideable", convolution);
  own.impl("convolution_backward_overrideable", convolution_backward);
  own.impl("lstm.input", lstm);
  own.impl("gru.input", gru);
  own.impl("lstm_cell", lstm_cell);
  own.impl("gru_cell", gru_cell);
  static torch::Library gradients(torch::Library::IMPL, "aten", c10::DispatchKey::AutogradPrivateUse1, __FILE__,
                                  __LINE__);
  gradients.impl("lstm.input", lstm);
  gradients.impl("gru.input", gru);
  gradients.impl("lstm_cell", lstm_cell);
  gradients.impl("gru_cell", gru_cell);
}

std::atomic<int> buffers_given{0}, masks_drawn{0};

class StandIn final : public Device {
 public:
  using Device::Device;
  c10::Storage host_buffer(std::size_t bytes) const override {
    ++buffers_given;
    return Device::host_buffer(bytes);
  }
  TensorMemory memory() const override { return count().now(); }
  std::int64_t live_bytes() const override { return count().live(); }
  at::Tensor bernoulli(at::IntArrayRef shape, at::ScalarType type, double probability, Key key) const override {
    ++masks_drawn;
    return Device::bernoulli(shape, type, probability, key);
  }

 private:
  const MemoryCount& count() const { return counts[static_cast<std::size_t>(place().index())]; }
};

}  // namespace

int stand_in_buffers() { return buffers_given; }
int stand_in_masks() { return masks_drawn; }
int stand_in_reads() { return reads; }

void register_stand_in() {
  static std::once_flag once;
  std::call_once(once, [] {
    static Guard guard;
    static Hooks hooks;
    c10::register_privateuse1_backend("stand_in");
    c10::impl::device_guard_impl_registry[static_cast<std::size_t>(stand_in)].store(&guard);
    c10::SetAllocator(stand_in, &memory());
    at::RegisterPrivateUse1HooksInterface(&hooks);
    register_operators();
    add_device_kind({.name = "stand_in",
                     .type = stand_in,
                     .automatic = false,
                     .none = "none",
                     .count = [] { return static_cast<int>(devices); },
                     .make = [](at::Device place) { return std::make_unique<StandIn>(place); }});
  });
}

LostDevice::LostDevice(std::int64_t calls) { calls_left = calls; }

LostDevice::~LostDevice() {
  calls_left = -1;
  has_raised = false;
}

bool LostDevice::is_gone() const { return has_raised; }

void prepare_devices() {
  if (!test_device().is_cuda()) register_stand_in();
}

FullDevice::FullDevice(std::int64_t bytes) { room = bytes; }
FullDevice::~FullDevice() { room = -1; }

at::Device test_device() {
  const char* const name = std::getenv("TRAINLAB_TEST_DEVICE");
  if (name == nullptr) return at::kCPU;
  if (std::strcmp(name, "stand_in") == 0) register_stand_in();
  return device_at(parse_device(name)).place();
}

}  // namespace trainlab::test

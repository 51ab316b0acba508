#include "support/stand_in_device.h"

#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/gru.h>
#include <ATen/ops/lstm.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "tensor/device.h"

namespace trainlab::test {

namespace {

constexpr auto stand_in = c10::DeviceType::PrivateUse1;
constexpr auto stand_in_key = c10::DispatchKey::PrivateUse1;

// An address of the stand-in's memory is that of host memory with a bit that no valid address has: code that reads a
// tensor through a bare pointer without asking where the tensor lives crashes at once, as on a GPU.
constexpr std::uintptr_t mark = std::uintptr_t{1} << 62;
void* sealed(void* p) { return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(p) | mark); }
void* opened(const void* p) { return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(p) & ~mark); }

class StandInMemory final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, at::Device(stand_in, 0)};
    void* const p = sealed(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
    return {p, p, free_block, at::Device(stand_in, 0)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return free_block; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(opened(to), opened(from), bytes);
  }

 private:
  static void free_block(void* p) { std::free(opened(p)); }
};

StandInMemory& memory() {
  static StandInMemory one;
  return one;
}

// One device with one stream, on which everything has been done when a call returns.
class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return stand_in; }
  c10::Device exchangeDevice(c10::Device) const override { return getDevice(); }
  c10::Device getDevice() const override { return {stand_in, 0}; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device device) const override { return c10::Stream(c10::Stream::DEFAULT, device); }
  c10::Stream getDefaultStream(c10::Device device) const override { return getStream(device); }
  c10::Stream exchangeStream(c10::Stream stream) const override { return stream; }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  void record(void**, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void destroyEvent(void*, const c10::DeviceIndex) const noexcept override {}
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
  void synchronizeDevice(const c10::DeviceIndex) const override {}
};

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
};

// The same memory as a tensor of the CPU.
at::Tensor on_host(const at::Tensor& t) {
  if (t.device().is_cpu()) return t;
  const auto values = static_cast<std::int64_t>(t.storage().nbytes() / t.element_size());
  return at::from_blob(opened(t.storage().data()), {values}, t.options().device(at::kCPU))
      .as_strided(t.sizes(), t.strides(), t.storage_offset());
}

at::Tensor empty(c10::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                 std::optional<at::Device>, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(size, &memory(), c10::DispatchKeySet(stand_in_key), c10::dtype_or_default(dtype),
                                   format);
}

at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef strides, std::optional<at::ScalarType> dtype,
                         std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(size, strides, &memory(), c10::DispatchKeySet(stand_in_key),
                                           c10::dtype_or_default(dtype));
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool) {
  if (to.numel() > 0) on_host(to).copy_(on_host(from));
  return to;
}

const at::Tensor& resized(const at::Tensor& self, c10::IntArrayRef size, std::optional<at::MemoryFormat> format) {
  at::TensorImpl* const tensor = self.unsafeGetTensorImpl();
  const std::size_t bytes =
      at::detail::computeStorageNbytesContiguous(size, self.element_size(), self.storage_offset());
  c10::StorageImpl* const storage = tensor->unsafe_storage().unsafeGetStorageImpl();
  if (storage->nbytes() < bytes) {
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

at::Scalar local_scalar(const at::Tensor& self) { return on_host(self).item(); }

at::Tensor convolution(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                       c10::IntArrayRef stride, c10::IntArrayRef padding, c10::IntArrayRef dilation, bool transposed,
                       c10::IntArrayRef output_padding, std::int64_t groups) {
  const auto host_bias = bias && bias->defined() ? std::optional(bias->cpu()) : std::nullopt;
  return at::convolution(x.cpu(), weight.cpu(), host_bias, stride, padding, dilation, transposed, output_padding,
                         groups)
      .to(x.device());
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward(const at::Tensor& gradient, const at::Tensor& x,
                                                                    const at::Tensor& weight, c10::IntArrayRef stride,
                                                                    c10::IntArrayRef padding, c10::IntArrayRef dilation,
                                                                    bool transposed, c10::IntArrayRef output_padding,
                                                                    std::int64_t groups, std::array<bool, 3> mask) {
  const std::array bias{gradient.size(1)};
  const auto [a, b, c] = at::convolution_backward(gradient.cpu(), x.cpu(), weight.cpu(), at::IntArrayRef(bias), stride,
                                                  padding, dilation, transposed, output_padding, groups, mask);
  const auto back = [&](const at::Tensor& t) { return t.defined() ? t.to(x.device()) : t; };
  return {back(a), back(b), back(c)};
}

// Its schema does not say that the running statistics are written to, so that the fallback would not bring them back.
std::tuple<at::Tensor, at::Tensor, at::Tensor> batch_norm(const at::Tensor& x, const std::optional<at::Tensor>& weight,
                                                          const std::optional<at::Tensor>& bias,
                                                          const std::optional<at::Tensor>& mean,
                                                          const std::optional<at::Tensor>& variance, bool training,
                                                          double momentum, double epsilon) {
  const auto moved = [](const std::optional<at::Tensor>& t) { return t && t->defined() ? t->cpu() : at::Tensor(); };
  const at::Tensor host_mean = moved(mean), host_variance = moved(variance);
  const auto [y, batch_mean, scale] =
      at::native_batch_norm(x.cpu(), moved(weight), moved(bias), host_mean, host_variance, training, momentum, epsilon);
  if (training && host_mean.defined()) {
    mean->copy_(host_mean);
    variance->copy_(host_variance);
  }
  return {y.to(x.device()), batch_mean.to(x.device()), scale.to(x.device())};
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
  const auto [y, h, c] =
      at::lstm(x.cpu(), on_cpu(start), on_cpu(weights), bias, layers, dropout, training, both_ways, batch_first);
  return {y.to(x.device()), h.to(x.device()), c.to(x.device())};
}

std::tuple<at::Tensor, at::Tensor> gru(const at::Tensor& x, const at::Tensor& start, at::TensorList weights, bool bias,
                                       std::int64_t layers, double dropout, bool training, bool both_ways,
                                       bool batch_first) {
  const auto [y, h] =
      at::gru(x.cpu(), start.cpu(), on_cpu(weights), bias, layers, dropout, training, both_ways, batch_first);
  return {y.to(x.device()), h.to(x.device())};
}

// All other operators: operands to the CPU, results back.
void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) { at::native::cpu_fallback(op, stack); }

void register_operators() {
  static torch::Library others(torch::Library::IMPL, "_", stand_in_key, __FILE__, __LINE__);
  others.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
  static torch::Library own(torch::Library::IMPL, "aten", stand_in_key, __FILE__, __LINE__);
  own.impl("empty.memory_format", empty);
  own.impl("empty_strided", empty_strided);
  own.impl("_copy_from", copy_from);
  own.impl("_copy_from_and_resize", copy_from_and_resize);
  own.impl("_local_scalar_dense", local_scalar);
  own.impl("resize_", resized);
  own.impl("as_strided", at::native::as_strided_tensorimpl);
  own.impl("view", at::native::view);
  own.impl("_reshape_alias", at::native::_reshape_alias);
  own.impl("unfold", at::native::unfold);
  own.impl("convolution_overrideable", convolution);
  own.impl("convolution_backward_overrideable", convolution_backward);
  own.impl("native_batch_norm", batch_norm);
  own.impl("lstm.input", lstm);
  own.impl("gru.input", gru);
  static torch::Library gradients(torch::Library::IMPL, "aten", c10::DispatchKey::AutogradPrivateUse1, __FILE__,
                                  __LINE__);
  gradients.impl("lstm.input", lstm);
  gradients.impl("gru.input", gru);
}

}  // namespace

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
                     .count = [] { return 1; },
                     .make = [](at::Device place) { return std::make_unique<Device>(place); }});
  });
}

at::Device test_device() {
  const char* const name = std::getenv("TRAINLAB_TEST_DEVICE");
  if (name == nullptr || std::strcmp(name, "stand_in") != 0) return at::kCPU;
  register_stand_in();
  return {stand_in, 0};
}

}  // namespace trainlab::test

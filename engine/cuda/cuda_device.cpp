#include "cuda_device.h"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "core/random/stream.h"
#include "draw_kernels.h"
#include "gpus.h"
#include "tensor/device.h"
#include "tensor/generator.h"

namespace trainlab::cuda {

namespace {

// The streams, events and allocators are LibTorch's own, reached through the interfaces that LibTorch has for every
// backend. So the plugin does not link LibTorch's CUDA libraries, which add_cuda() loads only where there is a GPU.
class Cuda final : public Device {
 public:
  explicit Cuda(at::Device place) : Device(place), copy_stream_(backend_.getStreamFromGlobalPool(place)) {}

  // The buffer is pinned, so that a copy can run in parallel with the host and with the GPU's other work.
  c10::Storage host_buffer(std::size_t bytes) const override {
    const c10::DeviceGuard here(place());
    return pinned({static_cast<std::int64_t>(bytes)}, at::kByte).storage();
  }

  // The copies have a stream of their own, so that the batch of the next step is copied while the GPU computes this
  // step. The caller's stream waits for the copies. The memory of the columns belongs to the stream of the copies; the
  // allocator must know that the caller's stream uses it, or it would give the memory to a later batch too early.
  void take(std::vector<at::Tensor>& columns) const override {
    const c10::Stream computing = backend_.getStream(place());
    {
      const c10::StreamGuard copying(copy_stream_);
      Device::take(columns);
    }
    c10::Event copied(at::kCUDA);
    copied.record(copy_stream_);
    computing.wait(copied);
    for (const at::Tensor& column : columns) backend_.recordDataPtrOnStream(column.storage().data_ptr(), computing);
  }

  void fill_uniform(const at::Tensor& out, Key key, double low, double high) const override {
    if (out.scalar_type() == at::kFloat) {
      write(UniformBlocks<float>{out.data_ptr<float>(), out.numel(), key.bits(), {low, high}});
    } else {
      write(UniformBlocks<double>{out.data_ptr<double>(), out.numel(), key.bits(), {low, high}});
    }
  }

  void fill_normal(const at::Tensor& out, Key key, double mean, double deviation) const override {
    if (out.scalar_type() == at::kFloat) {
      write(NormalBlocks<float>{out.data_ptr<float>(), out.numel(), key.bits(), mean, deviation});
    } else {
      write(NormalBlocks<double>{out.data_ptr<double>(), out.numel(), key.bits(), mean, deviation});
    }
  }

  at::Tensor dropout_multipliers(at::IntArrayRef shape, at::ScalarType type, std::span<const double> p,
                                 std::span<const Key> keys) const override {
    const at::Tensor out = at::empty(shape, at::TensorOptions(type).device(place()));
    const std::int64_t each = out.numel() / static_cast<std::int64_t>(keys.size());
    for (std::size_t m = 0; m < keys.size(); ++m) {
      const double own = p.size() == 1 ? p.front() : p[m];
      const std::int64_t begin = static_cast<std::int64_t>(m) * each;
      if (type == at::kFloat) {
        write(DropoutBlocks<float>{out.data_ptr<float>() + begin, each, keys[m].bits(), DropoutRate<float>(own)});
      } else {
        write(DropoutBlocks<double>{out.data_ptr<double>() + begin, each, keys[m].bits(), DropoutRate<double>(own)});
      }
    }
    return out;
  }

  // The numbers are drawn on the host, one after the other, and copied without waiting: LibTorch keeps pinned memory
  // until its copies are done.
  at::Tensor bernoulli(at::IntArrayRef shape, at::ScalarType type, double probability, Key key) const override {
    const c10::DeviceGuard here(place());
    return pinned(shape, type).bernoulli_(probability, keyed_generator(key)).to(place(), /*non_blocking=*/true);
  }

 private:
  static at::Tensor pinned(at::IntArrayRef shape, at::ScalarType type) {
    return at::empty(shape, at::TensorOptions(type).pinned_memory(true));
  }

  template <class Blocks>
  void write(const Blocks& blocks) const {
    const c10::DeviceGuard here(place());
    void* const stream = backend_.getStreamNativeHandle(backend_.getStream(place()));
    const cudaError_t status = launch(blocks, static_cast<cudaStream_t>(stream));
    if (status != cudaSuccess)
      throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, status,
                                  std::string("CUDA error: ") + cudaGetErrorString(status));
  }

  const c10::impl::VirtualGuardImpl backend_{at::kCUDA};
  const c10::Stream copy_stream_;
};

// Settings that give equal bytes in equal runs: cuDNN chooses among its deterministic algorithms only, and float32 is
// not replaced by TF32.
void prepare_torch() {
  at::globalContext().setDeterministicCuDNN(true);
  at::globalContext().setAllowTF32CuDNN(false);
}

std::unique_ptr<Device> made(at::Device place) {
  at::globalContext().lazyInitDevice(at::kCUDA);
  return std::make_unique<Cuda>(place);
}

}  // namespace

void add_cuda() {
  const Gpus gpus = find_gpus();
  if (gpus.count > 0) {
    check_architectures(gpus.count);
    load_torch_for_gpus();
    prepare_torch();
  }
  add_device_kind({.name = "cuda",
                   .type = at::kCUDA,
                   .automatic = true,
                   .none = gpus.none,
                   .count = [count = gpus.count] { return count; },
                   .make = made});
}

}  // namespace trainlab::cuda

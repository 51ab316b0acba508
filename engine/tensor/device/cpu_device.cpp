#include "cpu_device.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include "host_random.h"
#include "tensor/generator.h"

namespace trainlab {

namespace {

class Cpu final : public Device {
 public:
  Cpu() : Device(at::kCPU) {}

  TensorMemory memory() const override { return tensor_memory(); }
  std::int64_t live_bytes() const override { return live_tensor_bytes(); }
  void take(std::vector<at::Tensor>&) const override {}
  void fill_uniform(const at::Tensor& out, Key key, double low, double high) const override {
    host::fill_uniform(out, key, low, high);
  }
  void fill_normal(const at::Tensor& out, Key key, double mean, double deviation) const override {
    host::fill_normal(out, key, mean, deviation);
  }
  at::Tensor dropout_multipliers(at::IntArrayRef shape, at::ScalarType type, std::span<const double> p,
                                 std::span<const Key> keys) const override {
    return host::dropout_multipliers(shape, type, p, keys);
  }
  void draw(const c10::OperatorHandle& op, std::vector<c10::IValue>& stack, std::size_t generator,
            Key key) const override {
    stack[generator] = keyed_generator(key);
    op.callBoxed(stack);
  }
};

}  // namespace

const Device& cpu_device() {
  static const Cpu cpu;
  return cpu;
}

}  // namespace trainlab

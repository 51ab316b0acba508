// Devices as objects: what the engine asks of a device beside LibTorch's operators. The CPU is one of them.
//
// A device draws the numbers of a key (tensor/random.h) into its own memory: what Device itself does is to draw them on
// the host and to copy them, so that all devices draw alike; a device that is faster by itself overrides that.
// Thread-safe.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/random/key.h"
#include "tensor/memory.h"

namespace c10 {
class OperatorHandle;
struct IValue;
}  // namespace c10

namespace trainlab {

class Device {
 public:
  explicit Device(at::Device place) : place_(place) {}
  virtual ~Device() = default;
  Device(const Device&) = delete;

  at::Device place() const { return place_; }
  std::string name() const { return place_.str(); }  // "cpu", "cuda:1"

  // Whether what was asked of the device is done when the call returns, so that its numbers can be read without
  // waiting.
  bool is_synchronous() const { return place_.is_cpu(); }
  // Returns when all that was asked of the device is done. An error of work that was asked for is raised here.
  void wait() const;

  virtual TensorMemory memory() const;
  // memory().live, for callers that ask at every tensor: a device with a cheaper way than memory() has its own.
  virtual std::int64_t live_bytes() const { return memory().live; }

  // Memory of the host for batches that this device will take: 64-byte aligned, of unspecified content. A device that
  // copies faster from pinned memory gives pinned memory.
  virtual c10::Storage host_buffer(std::size_t bytes) const;

  // Moves columns of a batch to the device, in the order of the device's current stream. The copies may go on after the
  // call; until they are done, the device holds the host's tensors. So a buffer of the loader may be written to again
  // as soon as nobody holds a tensor on it. Where a copy raises, the columns stay as they were, and the host's tensors
  // are held until the copies that had begun are done, or for as long as the process lives if the device has failed.
  virtual void take(std::vector<at::Tensor>& columns) const;

  // fill_uniform, fill_normal and dropout_multipliers of tensor/random.h, for tensors that live here.
  virtual void fill_uniform(const at::Tensor& out, Key key, double low, double high) const;
  virtual void fill_normal(const at::Tensor& out, Key key, double mean, double deviation) const;
  virtual at::Tensor dropout_multipliers(at::IntArrayRef shape, at::ScalarType type, std::span<const double> p,
                                         std::span<const Key> keys) const;
  // A tensor whose elements are 1 with the given probability and else 0, independently of each other.
  virtual at::Tensor bernoulli(at::IntArrayRef shape, at::ScalarType type, double probability, Key key) const;
  // Calls an operator that draws; gradients go through it. `generator` is the place of its generator on the stack.
  virtual void draw(const c10::OperatorHandle& op, std::vector<c10::IValue>& stack, std::size_t generator,
                    Key key) const;

 private:
  struct Copy {
    c10::Event done;
    std::vector<at::Tensor> host;
    bool is_recorded = false;  // the event stands behind the copies in the stream
  };
  void forget_done_copies() const;

  const at::Device place_;
  mutable std::mutex copies_mutex_;
  mutable std::list<Copy> copies_;  // that were not done at the last look
};

// The object of a device that parse_device() gave, or on which a tensor lives.
const Device& device_at(at::Device place);

// A kind of devices: its name in texts ("cuda"), how many there are, and what makes their objects.
struct DeviceKind {
  std::string name;
  at::DeviceType type;
  bool automatic;    // whether "auto" takes the first of them
  std::string none;  // said in messages when there is no such device: "no usable GPU"
  std::function<int()> count;
  std::function<std::unique_ptr<Device>(at::Device)> make;
};

// Adds a kind, or replaces the kind of the same name. Call it before the first tensor on such a device and the first
// backward pass of the process. Plugins call it (tensor/device_plugin.h).
void add_device_kind(DeviceKind kind);

// Whether the text is one that parse_device() understands, whether or not such a device is there; loads no plugin.
// (parse_device() itself stands in tensor/types.h.)
bool names_device(std::string_view text);

// Loads all plugins that are there and gives the errors of those that cannot be used, the same at each call.
std::vector<Error> load_device_plugins();

// The device for which "auto" stands on this machine, "cpu" or the name of a kind; any other text as it is. "auto"
// loads all plugins and passes over those that cannot be used.
std::string settled_device(std::string_view text);

// parse_device() for one of several processes that share a text: where the text names a kind without an index, process
// `worker`, counted from 0, takes the device of number `worker` modulo the number of devices.
at::Device worker_device(std::string_view text, int worker);

}  // namespace trainlab

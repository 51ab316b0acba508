// Layer: one checked element of a model, with inferred shapes. Immutable after it was built and free of tensors:
// weights live in a ModelState, so one model runs with any of its states (current, best, averaged).
//
// Adding a layer (docs/adding-a-layer.md): a class with a constructor that checks shapes and declares parameters
// through LayerContext, forward(), and one registry entry with a LayerFactory.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/random.h"
#include "core/registry.h"
#include "tensor/types.h"

namespace trainlab {

// Tensors of one model or of a group of M members; each tensor has a leading axis of M when members > 0.
struct ModelState {
  std::vector<at::Tensor> parameters;  // leaves that require grad (unless frozen)
  std::vector<at::Tensor> buffers;     // running statistics
  std::int64_t members = 0;            // 0: one model, no member axis

  // Deep copy, detached, without grad requirement: for best weights.
  ModelState snapshot() const;
  // Copies values in place.
  void assign(const ModelState& from) const;
};

// One forward pass. `keys` holds a key per member (one where there is no member axis), already folded with step and
// micro-batch; random layers fold in their own path.
struct Pass {
  const ModelState& state;
  bool training = false;
  std::span<const Key> keys;

  std::int64_t members() const { return state.members; }
  const at::Tensor& parameter(std::size_t slot) const { return state.parameters[slot]; }
  const at::Tensor& buffer(std::size_t slot) const { return state.buffers[slot]; }
};

// Draws initial values in place from a key.
using Initializer = std::function<void(const at::Tensor& out, Key key)>;

struct ParameterInfo {
  std::string name;  // "2.weight", in a file "model.2.weight"
  Shape shape;       // without the member axis
  Initializer initialize;
  bool decays = true;  // false for norms and biases (`decay_norms_and_biases = false`)
};
struct BufferInfo {
  std::string name;
  Shape shape;
  double value;                      // initial
  at::ScalarType type = at::kFloat;  // kFloat stands for the dtype of the parameters
};

// Arithmetic per sample: the multiply-adds of matrix products and convolutions, each counted as two operations, and
// nothing else (no biases, norms, activations or pools), which is the convention of PyTorch's FlopCounterMode and of
// the literature on scaling. Such counts hold for any device and library.
struct Flops {
  double forward = 0;
  double backward = 0;  // gradients of parameters, and of the input where something before it needs them
  Flops& operator+=(const Flops& other) {
    forward += other.forward;
    backward += other.backward;
    return *this;
  }
};

// What autograd keeps of one sample from the forward to the backward pass, followed along the layers: each says
// whether it keeps what comes in, which tensor it makes, and whether it keeps that. A tensor that two layers keep is
// counted once, one that nobody keeps not at all. An estimate: operators may keep more than their formulas need.
class KeptMemory {
 public:
  // Starts at the model's input, which is the batch and not counted.
  KeptMemory(double element_bytes, const Shape& input);

  void keep_current() { tensors_[current_].kept = true; }
  // The layer's output is a new tensor.
  void produce(const Shape& output) { current_ = add(output, false); }
  void extra_bytes(double bytes) { extra_ += bytes; }
  double element_bytes() const { return element_bytes_; }

  // For branches: the tensor that is current now, to come back to.
  std::size_t mark() const { return current_; }
  void back_to(std::size_t mark) { current_ = mark; }

  double bytes() const;

 private:
  struct Tensor {
    double values;
    bool kept;
  };
  std::size_t add(const Shape& shape, bool kept);

  std::vector<Tensor> tensors_;
  double element_bytes_;
  double extra_ = 0;
  std::size_t current_;
};

class Layer;

// What a layer sees while it is built: its place in the model, the shape that comes in, and where to declare.
class LayerContext {
 public:
  const Shape& input() const { return input_; }      // of one sample: no batch and no member axis
  const std::string& path() const { return path_; }  // "model[3].Linear"
  const std::string& name() const { return name_; }  // of tensors: "3", "3.1"; empty for the root
  bool input_needs_gradient() const { return input_needs_gradient_; }

  // Declares; the slot is the index in ModelState.
  std::size_t parameter(std::string_view name, Shape shape, Initializer initialize, bool decays = true);
  std::size_t buffer(std::string_view name, Shape shape, double value, at::ScalarType type = at::kFloat);

  // Builds a child layer at position `position` (from 1) of a list, whose input is the output of the one before, or
  // under a name, whose input is this layer's own; `input` is the shape that it receives.
  std::unique_ptr<Layer> child(const Options& spec, const Shape& input, int position);
  std::unique_ptr<Layer> child(const Options& spec, const Shape& input, std::string_view name);

  // Error with the layer's path, source line and "expected …, found an input of shape […]".
  Error shape_error(const std::string& expected) const;
  // Error with the layer's path and source line, for options that do not fit each other or the input.
  Error error(const std::string& message) const;

  // For build_layer (layer.cpp), which makes the contexts.
  struct Tables {
    std::vector<ParameterInfo> parameters;
    std::vector<BufferInfo> buffers;
  };
  LayerContext(Tables& tables, const Options& spec, Shape input, std::string path, std::string name,
               bool input_needs_gradient);

 private:
  Tables* tables_;
  const Options* spec_;
  Shape input_;
  std::string path_;
  std::string name_;
  bool input_needs_gradient_;
  std::size_t first_parameter_;  // declared after it: those of this layer and its children
};

class Layer {
 public:
  virtual ~Layer() = default;

  // x: [B, input…], or with members [M, B, input…]; a shared input of a group is expanded by the caller.
  virtual at::Tensor forward(const at::Tensor& x, const Pass& pass) const = 0;

  // Whether forward takes a member axis. A layer that cannot (or has no gain) makes its trials run side by side.
  virtual bool stackable() const = 0;
  virtual Flops flops() const { return {}; }
  // Default: keeps its input, makes an output of its own.
  virtual void count_kept(KeptMemory& memory) const;
  // Children for the printed tree, in order.
  virtual std::vector<const Layer*> children() const { return {}; }

  // Set by Model when the layer was built.
  Shape input_shape, output;       // `output` is set by the layer's constructor, of one sample
  std::string path;                // "model[3].Linear"
  std::string printed;             // "Linear(64)"; of a container "Sequential"
  std::string where;               // "digits.lua:14" or empty
  std::size_t own_parameters = 0;  // number of values declared by this layer and its children
};

using LayerFactory = std::function<std::unique_ptr<Layer>(const Options&, LayerContext&)>;

// Calls layer.forward; an operator's error becomes Error{recipe} with the layer's path and source line. Costs nothing
// when there is no error.
at::Tensor forward_checked(const Layer& layer, const at::Tensor& x, const Pass& pass);

}  // namespace trainlab

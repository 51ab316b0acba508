// Layer: one checked element of a model, with inferred shapes. Immutable after it was built and free of tensors:
// weights live in a ModelState, so one model runs with any of its states (current, best, averaged).
//
// Adding a layer (docs/adding-a-layer.md): a class with a constructor that checks shapes and declares parameters
// through LayerContext, forward(), and one registry entry with a LayerKind.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/random/key.h"
#include "core/registry.h"
#include "tensor/types.h"

namespace trainlab {

// Tensors of one model or of a group of M members; each tensor has a leading axis of M when members > 0.
struct ModelState {
  std::vector<at::Tensor> parameters;  // leaves that require grad (unless frozen)
  std::vector<at::Tensor> buffers;     // running statistics
  std::int64_t members = 0;            // 0: one model, no member axis

  // A deep copy, detached, that does not require gradients.
  ModelState snapshot() const;
};

// Draws initial values in place from a key.
using Initializer = std::function<void(const at::Tensor& out, Key key)>;

struct ParameterInfo {
  std::string name;  // "2.weight", in a file "model.2.weight"
  Shape shape;       // without the member axis
  Initializer initialize;
  bool decays = true;  // false for norms and biases (`decay_norms_and_biases = false`)
  bool trains = true;  // false for frozen ones
  // Whether the parameter stays in float32 where weights are in bfloat16: norms, biases, and those of layers that are
  // kept in float32.
  bool is_full = false;

  // The type of the parameter in a state of weights of this type.
  at::ScalarType stored_in(at::ScalarType weights) const {
    return weights == at::kBFloat16 && is_full ? at::kFloat : weights;
  }
};
struct BufferInfo {
  std::string name;
  Shape shape;
  double value;                      // initial
  at::ScalarType type = at::kFloat;  // of numbers: kFloat, which stands for the type of the weights
  bool averages = true;              // averages of the weights average it too; if false, they have its latest value
  // Sets a buffer whose initial value depends on parameters, after the whole state has its initial values.
  std::function<void(const ModelState&)> begin = {};
  bool changes = true;  // false in frozen layers

  // The type of the buffer in a state of weights of this type: sums of many numbers, which bfloat16 would lose.
  at::ScalarType stored_in(at::ScalarType weights) const {
    if (!c10::isFloatingType(type)) return type;
    return weights == at::kBFloat16 ? at::kFloat : weights;
  }
};

// The type in which layers multiply matrices and convolve, where it is not float32 or float64 as everything else is.
// The weights are in float32 then, or also in bfloat16; the output of a model is in float32.
struct LayerPrecision {
  at::ScalarType compute = at::ScalarType::Undefined;  // undefined: the type of the weights
  // Patterns of layers that compute in float32 all the same: of the layer's name ("3.norm1"), of the name's part after
  // the last dot if it is no number ("norm1"), or of the layer's kind ("LayerNorm").
  std::vector<std::string> keep = {};
};

// The place of a named tensor in a pass: a column of the batch, or the output of an nn.Branch.
struct Source {
  bool branch = false;
  std::size_t slot = 0;
};

// The dropout probabilities of a group whose members differ in them: one for each member, by the key under which a
// layer draws.
using DropRates = std::map<std::uint64_t, std::vector<double>>;

struct Recompute;  // model/recompute.h

// One forward pass. `keys` holds a key for each member (a single key without a member axis), already folded with step
// and micro-batch; random layers fold in their own place. Model::forward sets `columns`, the columns of the batch in
// the order of Model::columns(), `branches`, which the pass fills, `buffers`, what is known of the state's buffers, and
// `compute`, the type of LayerPrecision.
struct Pass {
  const ModelState& state;
  bool training = false;
  std::span<const Key> keys;
  const DropRates* drop_rates = nullptr;  // null unless members differ in them
  // Whether a training pass takes its batch into the running statistics of the state. A second evaluation of the same
  // batch does not.
  bool updates_statistics = true;
  // Layers whose activations are computed again for the backward pass; null: none. What the pass points to, and the
  // model, must then outlive the backward pass.
  const Recompute* recompute = nullptr;
  // Whether the pass ends before the last layer of the model's chain and gives that layer's input.
  bool leaves_out_last = false;
  std::span<const at::Tensor> columns = {};
  std::span<at::Tensor> branches = {};
  std::span<const BufferInfo> buffers = {};
  at::ScalarType compute = at::ScalarType::Undefined;

  const at::Tensor& named(Source source) const { return source.branch ? branches[source.slot] : columns[source.slot]; }

  // The same pass with the tensors of another state, which must outlive the pass.
  Pass with(const ModelState& other) const {
    return {other,   training, keys,    drop_rates, updates_statistics, recompute, leaves_out_last,
            columns, branches, buffers, compute};
  }

  std::int64_t members() const { return state.members; }
  // A parameter to compute with in full: in float32 where it is stored in bfloat16.
  at::Tensor parameter(std::size_t slot) const {
    const at::Tensor& stored = state.parameters[slot];
    return stored.scalar_type() == at::kBFloat16 ? stored.to(at::kFloat) : stored;
  }
  const at::Tensor& buffer(std::size_t slot) const { return state.buffers[slot]; }
  // An operand of a matrix product or a convolution, and a parameter as such an operand: floating-point numbers in the
  // type in which the pass computes.
  at::Tensor operand(const at::Tensor& x) const { return compute == at::ScalarType::Undefined ? x : x.to(compute); }
  at::Tensor weight(std::size_t slot) const { return operand(state.parameters[slot]); }
  // The tensor in float32 where the pass computes in a type of its own; integers and undefined tensors as they are.
  at::Tensor in_full(const at::Tensor& x) const {
    const bool is_full = compute == at::ScalarType::Undefined || !x.defined() || !x.is_floating_point();
    return is_full ? x : x.to(at::kFloat);
  }
  // Whether the layer of this buffer trains; a frozen layer computes as in evaluation.
  bool trains_buffer(std::size_t slot) const { return training && (buffers.empty() || buffers[slot].changes); }
};

// y in the type of x.
inline at::Tensor in_type_of(const at::Tensor& x, const at::Tensor& y) {
  return y.scalar_type() == x.scalar_type() ? y : y.to(x.scalar_type());
}

// The description of a tensor that passes from one layer to the next.
struct Signal {
  Shape shape = {};                 // of one sample: no batch and no member axis
  bool integers = false;            // token ids, labels, counts; otherwise numbers of the model's floating type
  bool needs_gradient = false;      // depends on parameters
  bool nothing = false;             // true before an nn.Input if the data has no column "x"
  std::int64_t integers_below = 0;  // all integers are below this; 0: not known
};
// The columns of a batch that a model may read, by name.
using Signals = std::map<std::string, Signal, std::less<>>;

// Arithmetic per sample: only the multiply-adds of matrix products and convolutions, each counted as two operations (no
// biases, norms, activations or pools). This is the convention of PyTorch's FlopCounterMode and of the literature on
// scaling; the counts hold for any device and library.
struct Flops {
  double forward = 0;
  double backward = 0;  // gradients of parameters, and of the input where something before it needs them
  Flops& operator+=(const Flops& other) {
    forward += other.forward;
    backward += other.backward;
    return *this;
  }
};

// Counts the memory that autograd keeps for one sample from the forward to the backward pass. Each layer says whether
// it keeps its input, which tensor it makes, and whether it keeps that tensor. A tensor that two layers keep is counted
// once, a tensor that no layer keeps not at all. The result is an estimate: operators may keep more than their formulas
// need.
class KeptMemory {
 public:
  // Starts at the model's input, which is the batch and not counted.
  explicit KeptMemory(double element_bytes);

  void keep_current() { tensors_[current_].kept = true; }
  // The layer's output is a new tensor; images keep the order of their values.
  void produce(const Shape& output) {
    const bool channels_last = tensors_[current_].channels_last && output.size() == 3;
    current_ = add(output, false);
    tensors_[current_].channels_last = channels_last;
  }
  // The layer works on images whose channels lie side by side, and copies other images.
  void put_channels_last(const Shape& images) {
    if (tensors_[current_].channels_last) return;
    current_ = add(images, false);
    tensors_[current_].channels_last = true;
  }
  void extra_bytes(double bytes) { extra_ += bytes; }
  double element_bytes() const { return element_bytes_; }

  // For branches: the tensor that is current now, to come back to.
  std::size_t mark() const { return current_; }
  void back_to(std::size_t mark) { current_ = mark; }

  // The current tensor is a column of the batch, which is not counted.
  void start_at_column() {
    current_ = add({}, true);
    tensors_[current_].values = 0;
  }

  // The current tensor is the output of a branch, to be read later; and reading it, or a column of the batch.
  void name_branch(std::size_t slot) { branches_[slot] = current_; }
  void go_to(Source source) {
    if (source.branch) {
      current_ = branches_.at(source.slot);
    } else {
      start_at_column();
    }
  }

  double bytes() const;

 private:
  struct Tensor {
    double values;
    bool kept;
    bool channels_last = false;
  };
  std::size_t add(const Shape& shape, bool kept);

  std::vector<Tensor> tensors_;
  std::map<std::size_t, std::size_t> branches_;
  double element_bytes_;
  double extra_ = 0;
  std::size_t current_ = 0;
};

class Layer;

// The context in which a layer is built: its place in the model, its input, and the functions with which it declares
// parameters and buffers.
class LayerContext {
 public:
  // The shape of the input, for one sample. input() is for layers that calculate: integers are an error. any_input()
  // takes integers too. For both a missing input is an error (the data has no column "x").
  const Shape& input() const;
  const Shape& any_input() const;
  // The same unchecked, for containers that hand the input on to their children.
  const Signal& incoming() const { return incoming_; }
  bool input_needs_gradient() const { return incoming_.needs_gradient; }

  const std::string& path() const { return path_; }    // "model[3].Linear"
  const std::string& name() const { return name_; }    // of tensors: "3", "3.1"; empty for the root
  const std::string& place() const { return place_; }  // the same, but for shared layers, which are in several places

  // Declares a parameter; the slot is the index in ModelState. Layers that share weights declare each weight again and
  // get the slot of the first; different shapes are an error.
  std::size_t parameter(std::string_view name, Shape shape, Initializer initialize, bool decays = true);
  std::size_t buffer(std::string_view name, Shape shape, double value, at::ScalarType type = at::kFloat);
  std::size_t buffer(BufferInfo info);  // info.name is the layer's own, as above

  // The shape of an own parameter in the model as it was built first, when the model is built for inputs of other
  // sizes; else null.
  const Shape* built(std::string_view parameter) const;

  // Builds a child layer at position `position` (from 1) of a list, or under a name; `input` is what it receives.
  std::unique_ptr<Layer> child(const Options& spec, const Signal& input, int position);
  std::unique_ptr<Layer> child(const Options& spec, const Signal& input, std::string_view name);
  // Builds a child that shares its tensors with all layers under this name: "shared.NAME.weight".
  std::unique_ptr<Layer> shared_child(const Options& spec, const Signal& input, std::string_view name);

  // Finds a column of the batch, or the output of an earlier nn.Branch, by name. Error if there is none.
  std::pair<Source, Signal> named(const std::string& name);
  // For a layer that drops elements with probability p by draws under this key.
  void declare_drop(std::uint64_t key, double p) { tables_->drops.emplace(key, p); }
  // Names an output; the slot is the index in Pass::branches. Error if the name is taken.
  std::size_t name_branch(const std::string& name, const Signal& output);
  // For a layer that reads this tensor in place of its input.
  void replace_incoming(const Signal& signal) { incoming_ = signal; }

  // Error with the layer's path, source line and "expected …, found an input of shape […]".
  Error shape_error(const std::string& expected) const;
  // Error with the layer's path and source line, for options that do not fit each other or the input.
  Error error(const std::string& message) const;

  // For build_layer (layer.cpp), which makes the contexts.
  struct Tables {
    std::vector<ParameterInfo> parameters;
    std::vector<BufferInfo> buffers;
    Signals columns;                // that a batch has
    std::vector<std::string> read;  // columns that the model reads
    std::vector<std::pair<std::string, Signal>> branches;
    std::map<std::uint64_t, double> drops;  // probabilities of dropping, by the keys of the layers
    LayerPrecision precision;
    std::vector<std::string> unmatched;  // those of precision.keep that have matched no layer yet
    std::vector<std::size_t> declared;   // slots of the buffers in the order in which layers declared them
    // The tables of the same model as it was built first, when it is built for inputs of other sizes: parameters and
    // buffers must be the same.
    const Tables* built = nullptr;
  };
  LayerContext(Tables& tables, const Options& spec, Signal incoming, std::string path, std::string name,
               std::string place);

 private:
  Tables* tables_;
  const Options* spec_;
  Signal incoming_;
  std::string path_;
  std::string name_;
  std::string place_;
};

// The effect of an activation on numbers: `rectifier` makes 0 of all below 0, `sigmoid` and `tanh` press all between 0
// and 1 and between −1 and 1, `other` does none of these.
enum class Nonlinearity { none, other, rectifier, sigmoid, tanh };

// The facts of a kind of layer for those who watch layers.
struct LayerTraits {
  Nonlinearity nonlinearity = Nonlinearity::none;
  bool is_norm = false;          // its output has a mean and a variance that the layer sets
  bool is_over_batch = false;    // of a norm: in training, mean and variance are those of the batch
  bool is_convolution = false;   // its own operator is a convolution
  bool has_exponential = false;  // of an activation: computes an exponential or an error function of each element
};

class Layer {
 public:
  virtual ~Layer() = default;

  // x: [B, input…], or with members [M, B, input…]; a shared input of a group is expanded by the caller.
  virtual at::Tensor forward(const at::Tensor& x, const Pass& pass) const = 0;

  // Whether forward() takes a member axis. A fit with a layer that does not cannot be stacked with others.
  virtual bool stackable() const = 0;
  virtual Flops flops() const { return {}; }
  // Default: keeps its input, makes an output of its own.
  virtual void count_kept(KeptMemory& memory) const;
  // Children for the printed tree, in order.
  virtual std::vector<const Layer*> children() const { return {}; }
  // The slots of the parameters of a linear map of the last axis, x·weightᵀ + bias, and whether the map is kept in
  // float32 (is_kept).
  struct Linear {
    std::size_t weight;
    std::optional<std::size_t> bias;
    bool is_kept;
  };
  virtual std::optional<Linear> linear() const { return std::nullopt; }
  // Whether forward() calls a function of the recipe, and whether a further call changes a value that the function
  // uses: a counter, say. Calls the function.
  virtual bool calls_function() const { return false; }
  virtual bool changes_values() const { return false; }

  // The output, for the layer after this one.
  Signal outgoing() const { return {output, integers, needs_gradient, /*nothing=*/false, integers_below}; }

  // Set by the layer's constructor.
  Shape output;                     // of one sample
  bool integers = false;            // the output holds integers
  std::int64_t integers_below = 0;  // see Signal

  // Set by Model when the layer was built.
  Shape input_shape;
  bool needs_gradient = false;                 // the output depends on parameters
  std::string path;                            // "model[3].Linear"
  std::string place;                           // "3", or "3.1" within a layer; empty for the root
  std::vector<std::size_t> buffer_slots = {};  // of the buffers of this layer and its children
  LayerTraits traits;
  std::string kind;                // "Linear"
  std::string printed;             // "Linear(64)"; of a container "Sequential"
  std::string where;               // "digits.lua:14" or empty
  std::size_t own_parameters = 0;  // number of values declared by this layer and its children
  bool is_kept = false;            // computes in float32: a pattern of LayerPrecision::keep matches the layer
};

// The implementation of an entry of kind "layer", and what others must know of the layer before it is built.
struct LayerKind {
  std::function<std::unique_ptr<Layer>(const Options&, LayerContext&)> make = {};
  // "softmax" or "sigmoid" for a layer that makes probabilities, or their logarithms, of scores. A loss that applies
  // the function itself (LossKind::applies) wants no such layer before it.
  std::string_view applies = {};
  std::string_view chain =
      {};  // the option with the layers whose last makes the output, of a layer that only joins them
  std::string_view width = {};    // the option with the number of features that the layer computes
  std::string_view repeats = {};  // the option with the number of copies of the layer inside
  int outputs_axis = 0;           // the axis of its parameter "weight" that counts outputs
  LayerTraits traits = {};
};

// The factory of a layer class with a constructor (const Options&, LayerContext&).
template <class T>
LayerKind layer_kind(LayerKind flags = {}) {
  flags.make = [](const Options& options, LayerContext& context) -> std::unique_ptr<Layer> {
    return std::make_unique<T>(options, context);
  };
  return flags;
}

// Calls layer.forward; an operator's error becomes Error{recipe} with the layer's path and source line. Costs nothing
// when there is no error. The pass through the layer is a span of its path.
at::Tensor forward_checked(const Layer& layer, const at::Tensor& x, const Pass& pass);

}  // namespace trainlab

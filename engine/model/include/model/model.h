// Model: a spec made into checked layers with inferred shapes, parameters, FLOPs and a printable tree.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/layer.h"
#include "tensor/named_tensors.h"

namespace trainlab {

class Model {
 public:
  // Builds the layers for batches with these columns. The model's input is the column "x", if there is one; layers
  // nn.Input read other columns. Error{recipe} with the layer's path, both shapes and the source line when they do not
  // fit.
  Model(const Options& spec, Signals columns, LayerPrecision precision = {});
  // Builds the layers for a single column "x" of floating-point numbers, with samples of this shape.
  Model(const Options& spec, const Shape& input) : Model(spec, Signals{{"x", {.shape = input}}}) {}
  ~Model();
  Model(Model&&) noexcept;

  // The columns that the model reads, in the order in which forward() takes them: "x" comes first if the data has it.
  const std::vector<std::string>& columns() const { return tables_.read; }
  const Shape& output() const { return root_->output; }
  // The columns for which the model was built.
  const Signals& signals() const { return tables_.columns; }
  // Probabilities of dropping, by the keys under which layers draw.
  const std::map<std::uint64_t, double>& drops() const { return tables_.drops; }
  const std::vector<ParameterInfo>& parameters() const { return tables_.parameters; }
  const std::vector<BufferInfo>& buffers() const { return tables_.buffers; }
  std::int64_t parameter_count() const;
  // Set other initial values of a parameter or buffer, and freeze a parameter, or a buffer with its layer's statistics.
  // To be called before states are made.
  void set_initial(std::size_t parameter, Initializer initialize) {
    tables_.parameters.at(parameter).initialize = std::move(initialize);
  }
  void set_initial_buffer(std::size_t buffer, at::Tensor values) { buffer_values_[buffer] = std::move(values); }
  void freeze(std::size_t parameter) { tables_.parameters.at(parameter).trains = false; }
  void freeze_buffer(std::size_t buffer) { tables_.buffers.at(buffer).changes = false; }
  Flops flops() const { return root_->flops(); }
  // The type in which forward() computes, and the patterns of layers that keep float32 which match no layer.
  const LayerPrecision& precision() const { return tables_.precision; }
  const std::vector<std::string>& unmatched_keep() const { return tables_.unmatched; }
  // The layer that all others are inside.
  const Layer& root() const { return *root_; }
  // The layers that a pass goes through one after the other: the layers of the root, and in place of a chain in a chain
  // the layers of the inner one. The root alone where it is no chain.
  std::vector<const Layer*> chain() const;
  // Bytes per sample that a training step keeps for the backward pass, with as much for the loss as the model's output
  // (estimate, see KeptMemory). Weights and the batch itself are not in it.
  double kept_bytes(at::ScalarType type) const;

  // The first layer that cannot take a member axis, as a path; empty when all can.
  std::string not_stackable() const;

  // Initial weights. One key: a single model (members = 0). Several: a group, slice m drawn from keys[m] exactly as
  // a single model with that key would be.
  ModelState initial_state(std::span<const Key> keys, at::ScalarType type, at::Device device, bool group) const;

  // The batch's columns(), each [B, sample…] or, for a group, [M, B, sample…]. Samples may have other sizes than those
  // for which the model was built, where all layers take them with the parameters that they have: the layers are built
  // for these sizes too. Error{recipe} otherwise. Operator errors carry the layer's path. The output is in the type of
  // the weights. Thread-safe.
  at::Tensor forward(std::span<const at::Tensor> columns, const Pass& pass) const;
  // Raises Error{recipe}, with the path of a layer, if the layers do not take samples of these shapes, one for each of
  // columns().
  void check_sizes(std::vector<Shape> samples) const;
  // For a model that reads one column.
  at::Tensor forward(const at::Tensor& x, const Pass& pass) const { return forward({&x, 1}, pass); }

  // A line per layer: path, constructor form, output shape, parameters, FLOPs.
  std::string tree() const;

 private:
  // The layers of the model for samples of other sizes.
  struct Sized {
    LayerContext::Tables tables;
    std::unique_ptr<Layer> root;
  };
  struct OtherSizes;
  std::shared_ptr<const Sized> sized_for(std::vector<Shape> shapes) const;
  Error wrong_batch(std::size_t column, at::IntArrayRef found, std::int64_t members) const;

  Options spec_;
  std::unique_ptr<OtherSizes> other_sizes_;
  LayerContext::Tables tables_;
  std::map<std::size_t, at::Tensor> buffer_values_;  // values in place of those that the layers declared
  std::unique_ptr<Layer> root_;
};

// Tensors under their file names ("model.2.weight"), parameters first. A group's member m alone (member ≥ 0) has the
// names and shapes of a single model's tensors. They share memory with `state`.
std::vector<std::pair<std::string, at::Tensor>> named_state(const Model& model, const ModelState& state,
                                                            std::int64_t member = -1);
// The way back: copies values into `state` (into its member, if ≥ 0), converting the dtype. Error{recipe} for a
// missing tensor or another shape; then nothing was copied. Other tensors in `from` are ignored.
void load_named_state(const Model& model, const ModelState& state, const NamedTensors& from, std::int64_t member = -1);

void register_model(Registry& registry);

}  // namespace trainlab

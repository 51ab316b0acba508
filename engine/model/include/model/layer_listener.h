// LayerListener: hears the tensors that pass through the layers of models, in the forward passes of its own thread.
//
// Where nobody listens, which is the default, a layer costs one branch.
#pragma once

#include <ATen/core/Tensor.h>

#include "model/layer.h"

namespace trainlab {

class LayerListener {
 public:
  virtual ~LayerListener() = default;
  // Called after the forward pass of each layer, after the layers inside of it. The tensors hold their values during
  // the call only: a later layer may work in place. `input` is undefined where the data has no column "x", and `output`
  // for a model whose last layer the pass leaves out. Where the chain of a model runs in segments, containers inside
  // the model are not told.
  virtual void passed(const Layer& layer, const at::Tensor& input, const at::Tensor& output, const Pass& pass) = 0;
};

// Tells the listener of the calling thread of a layer, if there is one.
void tell_of_layer(const Layer& layer, const at::Tensor& input, const at::Tensor& output, const Pass& pass);

// Makes this the listener of the calling thread, null for nobody. Returns the listener before.
LayerListener* listen_to_layers(LayerListener* listener);

// While this guard exists, nobody listens on its thread.
class NoLayerListener {
 public:
  NoLayerListener() : outer_(listen_to_layers(nullptr)) {}
  ~NoLayerListener() { listen_to_layers(outer_); }
  NoLayerListener(const NoLayerListener&) = delete;

 private:
  LayerListener* outer_;
};

}  // namespace trainlab

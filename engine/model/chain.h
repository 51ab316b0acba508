// Chain: layers one after the other, for layers that contain a list of layers.
#pragma once

#include <memory>
#include <vector>

#include "model/layer.h"

namespace trainlab {

class Chain {
 public:
  Chain(const std::vector<Options>& specs, LayerContext& context) {
    Signal signal = context.incoming();
    for (std::size_t i = 0; i < specs.size(); ++i) {
      layers_.push_back(context.child(specs[i], signal, static_cast<int>(i + 1)));
      signal = layers_.back()->outgoing();
    }
    if (layers_.empty()) throw context.error("expected at least one layer, found none");
  }

  const Layer& last() const { return *layers_.back(); }

  at::Tensor forward(const at::Tensor& x, const Pass& pass) const {
    at::Tensor y = forward_checked(*layers_[0], x, pass);
    for (std::size_t i = 1; i < layers_.size(); ++i) y = forward_checked(*layers_[i], y, pass);
    return y;
  }

  bool stackable() const {
    for (const auto& layer : layers_) {
      if (!layer->stackable()) return false;
    }
    return true;
  }
  Flops flops() const {
    Flops sum;
    for (const auto& layer : layers_) sum += layer->flops();
    return sum;
  }
  void count_kept(KeptMemory& memory) const {
    for (const auto& layer : layers_) layer->count_kept(memory);
  }
  std::vector<const Layer*> children() const {
    std::vector<const Layer*> list;
    for (const auto& layer : layers_) list.push_back(layer.get());
    return list;
  }

 private:
  std::vector<std::unique_ptr<Layer>> layers_;
};

// A layer that is only a chain.
class ChainLayer : public Layer {
 public:
  ChainLayer(const std::vector<Options>& specs, LayerContext& context) : chain_(specs, context) {
    output = chain_.last().output;
    integers = chain_.last().integers;
    needs_gradient = chain_.last().needs_gradient;
  }
  at::Tensor forward(const at::Tensor& x, const Pass& pass) const final { return chain_.forward(x, pass); }
  bool stackable() const final { return chain_.stackable(); }
  Flops flops() const final { return chain_.flops(); }
  void count_kept(KeptMemory& memory) const final { chain_.count_kept(memory); }
  std::vector<const Layer*> children() const final { return chain_.children(); }

 private:
  Chain chain_;
};

}  // namespace trainlab

// LayerReader: takes samples of the activations of a training step while its forward pass goes on.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "model/layer_listener.h"
#include "reading.h"

namespace trainlab {

class LayerReader final : public LayerListener {
 public:
  // Layers that are found are added to `figures`, which outlives the object. `root`: the path of the model's outermost
  // layer; `classes`: how many scores the output has for each sample, 0 for none.
  LayerReader(HealthFigures& figures, std::string root, std::int64_t classes)
      : figures_(figures), root_(std::move(root)), classes_(classes) {}
  ~LayerReader() override { stop(); }

  // Listens until stop(), on the calling thread.
  void start(Reading& into);
  void stop();
  void passed(const Layer& layer, const at::Tensor& input, const at::Tensor& output, const Pass& pass) override;

 private:
  void whole_model(const at::Tensor& input, const at::Tensor& output);
  std::size_t place_of(const Layer& layer);

  HealthFigures& figures_;
  std::string root_;
  std::int64_t classes_;
  Reading* reading_ = nullptr;
  bool is_first_ = true;             // whether no step has been read to its end
  bool has_met_weights_ = false;     // whether the first step has passed a layer with parameters
  bool has_channels_first_ = false;  // see layer_reader.cpp; of the latest layer
  std::size_t latest_ = 0;           // place of the latest activation in HealthFigures::units
  at::Tensor latest_output_;
};

}  // namespace trainlab

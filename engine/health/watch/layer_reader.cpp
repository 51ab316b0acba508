#include "layer_reader.h"

#include <algorithm>

#include "samples.h"

namespace trainlab {
namespace {

constexpr std::int64_t most_input = 4096;

// Whether a sample has its channels before its places, [channels, places…], after a layer. A convolution makes such
// samples; a linear map makes [places…, features], and so does a layer that moves the axes.
bool has_channels_first(bool before, const Layer& layer, const at::Tensor& input, const at::Tensor& output) {
  if (output.dim() < 3) return false;
  if (layer.traits.is_convolution || layer.traits.is_over_batch) return true;
  if (layer.linear() || !input.defined()) return false;
  return before && input.dim() == output.dim() && input.size(1) == output.size(1);
}

// Whether the layer takes mean and variance of this batch. A frozen one takes its running statistics.
bool is_over_this_batch(const Layer& layer, const Pass& pass) {
  return layer.traits.is_over_batch &&
         std::ranges::all_of(layer.buffer_slots, [&](std::size_t slot) { return pass.trains_buffer(slot); });
}

}  // namespace

void LayerReader::start(Reading& into) {
  reading_ = &into;
  has_channels_first_ = false;
  listen_to_layers(this);
}

void LayerReader::stop() {
  if (!reading_) return;
  reading_ = nullptr;
  latest_output_ = at::Tensor();
  listen_to_layers(nullptr);
}

std::size_t LayerReader::place_of(const Layer& layer) {
  const auto found = std::ranges::find(figures_.units, layer.path, &UnitFigures::path);
  if (found != figures_.units.end()) return static_cast<std::size_t>(found - figures_.units.begin());
  figures_.units.push_back({.path = layer.path, .kind = layer.kind});
  return figures_.units.size() - 1;
}

void LayerReader::whole_model(const at::Tensor& input, const at::Tensor& output) {
  if (is_first_ && input.defined() && input.is_floating_point()) reading_->input = sample_of(input, most_input);
  if (classes_ > 1 && output.defined() && output.dim() == 2 && output.size(1) == classes_) {
    reading_->output = sample_rows(output, 1, {1 + output.size(0) / 256, 1});
  }
  // An activation that is the model's last layer is left out, because its output is meant to be near its limits.
  if (latest_output_.defined() && latest_output_.is_same(output)) reading_->units[latest_] = {};
  latest_output_ = at::Tensor();  // the backward pass gives the activation back
  is_first_ = false;
}

void LayerReader::passed(const Layer& layer, const at::Tensor& input, const at::Tensor& output, const Pass& pass) {
  if (!reading_ || !pass.training || pass.members() > 0) return;
  if (layer.path == root_) return whole_model(input, output);
  if (!layer.children().empty()) return;
  const LayerTraits& traits = layer.traits;
  has_channels_first_ = has_channels_first(has_channels_first_, layer, input, output);
  if (is_first_ && !has_met_weights_) {
    has_met_weights_ = traits.is_norm || layer.own_parameters > 0;
    figures_.input.is_normalised = figures_.input.is_normalised || traits.is_norm;
  }
  if (is_first_ && is_over_this_batch(layer, pass) && input.defined() && input.dim() > 1 && input.size(1) > 0) {
    const std::int64_t values = input.numel() / input.size(1);
    // After a resume, the norm has its figures from the checkpoint.
    auto known = std::ranges::find(figures_.norms, layer.path, &BatchNormFigures::path);
    if (known == figures_.norms.end()) known = figures_.norms.insert(known, {.path = layer.path});
    known->values = static_cast<double>(values);
  }
  if (traits.nonlinearity == Nonlinearity::none || output.dim() < 2) return;
  latest_ = place_of(layer);
  latest_output_ = output;
  if (reading_->units.size() < figures_.units.size()) reading_->units.resize(figures_.units.size());
  reading_->units[latest_] = {sample_units(output, has_channels_first_ ? 1 : output.dim() - 1), traits.nonlinearity};
}

}  // namespace trainlab

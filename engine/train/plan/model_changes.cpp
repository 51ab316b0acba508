#include "train/model_changes.h"

#include <algorithm>
#include <cmath>

#include "model/layer.h"

namespace trainlab {

namespace {

std::string set_text(const std::string& path, std::int64_t value) { return path + "=" + std::to_string(value); }

bool takes_layers(const Option& option) {
  return std::ranges::any_of(option.forms, [](const Form& form) { return form.kind == "layer"; });
}

}  // namespace

ModelChanges::ModelChanges(const Options& fit) {
  look(fit.child("model"), "model");
  if (!features_.empty()) {
    std::erase_if(activations_, [&](const Activation& one) { return one.after == features_.size(); });
    features_.pop_back();
  }
  for (const Activation& one : activations_)
    if (std::ranges::count(replaced_, one.kind) == 0) replaced_.push_back(one.kind);
}

// `path`: as --set takes it.
void ModelChanges::look(const Options& layer, const std::string& path) {
  const Entry& entry = layer.entry();
  const auto& kind = layer.registry().implementation<LayerKind>(entry);
  if (kind.traits.has_exponential)
    activations_.push_back({path, entry.name.substr(entry.name.rfind('.') + 1), features_.size()});
  if (const std::string times(kind.repeats); !times.empty() && layer.integer(times) > 1)
    repeats_.emplace_back(path + "." + times, layer.integer(times));
  if (const std::string width(kind.width); !width.empty() && layer.given(width))
    features_.emplace_back(path + "." + width, layer.integer(width));
  for (const Option& option : entry.options) {
    if (!takes_layers(option) || !layer.has(option.name)) continue;
    const std::string below = option.is_array ? path : path + "." + option.name;
    if (!option.is_many) {
      if (layer.is_entry(option.name)) look(layer.child(option.name), below);
      continue;
    }
    const std::vector<Options::Element> elements = layer.elements(option.name);
    for (std::size_t i = 0; i < elements.size(); ++i)
      if (elements[i].entry) look(*elements[i].entry, below + "[" + std::to_string(i + 1) + "]");
  }
}

std::vector<std::string> ModelChanges::features(double factor) const {
  std::vector<std::string> set;
  for (const auto& [path, count] : features_) {
    const auto changed = static_cast<std::int64_t>(std::floor(factor * static_cast<double>(count)));
    set.push_back(set_text(path, std::max<std::int64_t>(changed, 1)));
  }
  return set;
}

std::vector<std::string> ModelChanges::half_repeats() const {
  std::vector<std::string> set;
  for (const auto& [path, times] : repeats_) set.push_back(set_text(path, times / 2));
  return set;
}

std::vector<std::string> ModelChanges::rectifiers() const {
  std::vector<std::string> set;
  for (const Activation& one : activations_) set.push_back(one.path + "=ReLU");
  return set;
}

}  // namespace trainlab

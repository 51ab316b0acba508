// Changes of a fit's model that make the model smaller, larger or cheaper, as texts of --set.
//
// A plain value. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/registry.h"

namespace trainlab {

// Returns the fit with these further texts of --set. Raises Error where the fit has no such option.
using WithSet = std::function<Options(const std::vector<std::string>& set)>;

class ModelChanges {
 public:
  // Looks through the options of the fit's model: a layer, not a table of several models.
  explicit ModelChanges(const Options& fit);

  // This many times the features, at least 1, in all layers with an option for their number but the last one: that
  // layer makes the output, whose size the loss demands. None where no other layer has such an option.
  std::vector<std::string> features(double factor) const;
  // Half as many copies of the layer in each nn.Repeat with more than one.
  std::vector<std::string> half_repeats() const;
  // nn.ReLU in place of each activation that computes exponentials, but for those after the last layer with a number of
  // features, which belong to the output.
  std::vector<std::string> rectifiers() const;
  // The kinds of these activations, "GELU", each once.
  const std::vector<std::string>& replaced() const { return replaced_; }

 private:
  using Sized = std::pair<std::string, std::int64_t>;  // the path of an option, and its value
  struct Activation {
    std::string path, kind;
    std::size_t after;  // number of layers with a number of features before it
  };

  void look(const Options& layer, const std::string& path);

  std::vector<Sized> features_, repeats_;
  std::vector<Activation> activations_;
  std::vector<std::string> replaced_;
};

}  // namespace trainlab

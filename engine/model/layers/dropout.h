// Dropout as a part of other layers: multipliers keyed by the layer's place and the step.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "model/layer.h"

namespace trainlab {

class KeyedDropout {
 public:
  // `purpose` distinguishes several dropouts of one layer.
  KeyedDropout(double p, LayerContext& context, std::string_view purpose = "dropout");

  // Whether anything is dropped in this pass; for a group of members, whether any member drops something.
  bool acts(const Pass& pass) const;
  double p() const { return p_; }
  // Multipliers 0 and 1/(1 − p) of this shape, with the member axis if there is one: in float32 for types of fewer
  // digits, in which 1/(1 − p) would be off for all elements alike.
  at::Tensor multipliers(at::IntArrayRef shape, const at::TensorOptions& type, const Pass& pass) const;
  // x with elements dropped in training. The backward pass draws the multipliers again, so that nothing is kept for it.
  // `change`: what happens to the multipliers before they meet x.
  using Change = std::function<at::Tensor(const at::Tensor& multipliers)>;
  at::Tensor operator()(const at::Tensor& x, const Pass& pass, const Change& change = {}) const;
  // Adds the memory that the backward pass keeps for one sample where a layer uses this many multipliers itself.
  void count_kept(KeptMemory& memory, double values) const;

 private:
  // The rates of this pass: one rate for all members, or one for each member.
  std::span<const double> rates(const Pass& pass) const;
  std::vector<Key> own_keys(const Pass& pass) const;

  double p_;
  std::uint64_t purpose_;  // folded into each step's key
};

// A probability that is given to a KeyedDropout: each member of a group may have its own.
Option dropout_option(std::string name, std::string doc);

}  // namespace trainlab

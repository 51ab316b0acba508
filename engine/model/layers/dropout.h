// Dropout as a part of other layers: multipliers keyed by the layer's place and the step.
#pragma once

#include <span>
#include <string_view>

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
  // x with elements dropped in training.
  at::Tensor operator()(const at::Tensor& x, const Pass& pass) const;
  // Adds the memory that the backward pass keeps for one sample's tensor of this many values.
  void count_kept(KeptMemory& memory, double values) const;

 private:
  // The rates of this pass: one rate for all members, or one for each member.
  std::span<const double> rates(const Pass& pass) const;

  double p_;
  std::uint64_t purpose_;  // folded into each step's key
};

// A probability that is given to a KeyedDropout: each member of a group may have its own.
Option dropout_option(std::string name, std::string doc);

}  // namespace trainlab

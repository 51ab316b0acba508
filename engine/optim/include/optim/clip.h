// Gradient clipping without a device synchronisation.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>
#include <string>

#include "core/registry.h"

namespace trainlab {

// Bounds of the gradients; 0: none. The values are clipped before the norm.
struct Clip {
  double norm = 0, value = 0;
};

// The option `clip`, a number for the norm or a table { norm = …, value = … }, and what `table` gives under `name` in
// this form. Error{recipe} for a table without a bound.
Option clip_option();
Clip clip_of(const Options& table, const std::string& name);

// Scales the gradients in place so that their joint L2 norm is at most max_norm, with PyTorch's formula
// factor = min(1, max_norm / (norm + 1e-6)). Without members (0) the norm is over all gradients and a 0-dim tensor is
// returned; with members per slice of the leading axis, and [M] is returned: the norms before clipping, on the device.
at::Tensor clip_by_norm(std::span<const at::Tensor> gradients, double max_norm, std::int64_t members);

// Limits each gradient value in place to −bound … bound.
void clip_by_value(std::span<const at::Tensor> gradients, double bound);

}  // namespace trainlab

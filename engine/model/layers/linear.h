// The product of nn.Linear, for layers that contain such products.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "model/layer.h"

namespace trainlab {

// x·Wᵀ + b on the last axis: x [B, …, in], weight [out, in], bias [out] → [B, …, out]. In a pass with members each of
// the three has a member axis before these.
at::Tensor linear_map(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                      const Pass& pass);

}  // namespace trainlab

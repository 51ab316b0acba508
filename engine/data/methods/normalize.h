// The effect of data:normalize() on x, for the training data and for new inputs.
#pragma once

#include "data/dataset.h"

namespace trainlab {

// Makes x (x − mean) / deviation by another scale and shift, which costs nothing. Both tensors are float64,
// broadcastable to a sample.
void normalize_x(Dataset& dataset, const at::Tensor& mean, const at::Tensor& deviation);

}  // namespace trainlab

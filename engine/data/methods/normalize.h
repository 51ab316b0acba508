// What data:normalize() does to x: of the training data, and of new inputs later.
#pragma once

#include "data/dataset.h"

namespace trainlab {

// From now on x is (x − mean) / deviation, at no cost: as another scale and shift. float64, broadcastable to a sample.
void normalize_x(Dataset& dataset, const at::Tensor& mean, const at::Tensor& deviation);

}  // namespace trainlab

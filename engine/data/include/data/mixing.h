// The effect of mixup and cutmix on the labels of training batches.
#pragma once

#include "data/dataset.h"

namespace trainlab {

// Whether y in batches of the part is a distribution over the classes, float [classes], in place of the data's label.
bool mixes_labels(const Part& part);

}  // namespace trainlab

// What augmentation that mixes samples (mixup, cutmix) does to the labels of training batches.
#pragma once

#include "data/dataset.h"

namespace trainlab {

// Whether batches of the part have a distribution over the classes as y, float [classes], where the data has a label.
bool mixes_labels(const Part& part);

}  // namespace trainlab

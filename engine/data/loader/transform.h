// Functions of a recipe over batches: data:transform.
#pragma once

#include "data/loader.h"

namespace trainlab {

// The batch after the part's transforms, which are called in order. The random numbers of a call are keyed by (key,
// epoch, the batch's place). Home thread of the functions. Error{recipe} names the function that gave back something
// else than a batch with the same columns, each of its shape and dtype, but for a y that became shares of classes.
Batch transformed(const Part& part, Batch batch, const Key& key);

}  // namespace trainlab

// Functions of a recipe over batches: data:transform.
#pragma once

#include "data/loader.h"

namespace trainlab {

// The batch after the part's transforms, which are called in order. The random numbers of a call are keyed by (key,
// epoch, the batch's place). Called on the functions' home thread. A function must return a batch with the same columns
// in the same shapes and dtypes, except that labels y may become shares of classes; Error{recipe} names a function that
// does not.
Batch transformed(const Part& part, Batch batch, const Key& key);

}  // namespace trainlab

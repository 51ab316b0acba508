// Weights in bfloat16, which a step computes with in float32 and rounds at its end. An update is mostly smaller than
// the distance between two numbers of bfloat16, so that rounding to the nearest would keep every weight where it is.
//
// stochastic: up or down at random, with the probabilities that make the mean right; by the same hash of key and place
// as states in bfloat16 (lean.h), so that nothing but the key has to be stored.
// compensated: to the nearest; the rest, a second number in bfloat16, is added again before the next update. Both
// together have 16 bits (Kahan's sum of updates).
#pragma once

#include "lean.h"

namespace trainlab {

// The weights of one parameter and row, in host memory.
struct RoundedWeights {
  LeanState stored;      // in bfloat16
  at::Tensor rest = {};  // bfloat16, where compensated; else undefined
};

// Reads and writes block `block`, as those of lean.h do.
void read_block(const RoundedWeights& weights, std::int64_t block, float* values);
void write_block(const RoundedWeights& weights, std::int64_t block, const float* values);

}  // namespace trainlab

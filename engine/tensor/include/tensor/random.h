// Random tensors from keys (core/random/stream.h): the same numbers on any thread count and in any order of calls.
//
// Element i of a float32 tensor uses word i of the key's stream, element i of a float64 tensor words 2i and 2i + 1
// (normal draws use pairs of them). Tensors are contiguous, float32 or float64; the numbers are the same on every
// device, but for the last bit of normal ones on a GPU (tensor/drawn_values.h). Thread-safe.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>

#include "core/random/key.h"

namespace trainlab {

// In place, in [low, high).
void fill_uniform(const at::Tensor& out, Key key, double low, double high);
// In place, by Box–Muller.
void fill_normal(const at::Tensor& out, Key key, double mean, double deviation);

// Multipliers of inverted dropout, of a shape: 0 with probability p (to the nearest multiple of 2^-16), else
// 1 / (1 − p); 0 ≤ p < 1. Elements 2i and 2i + 1 use the lower and the upper half of word i for both types, so that
// float32 and float64 runs drop the same elements.
// One key draws the whole tensor. With several keys the shape is [M, …], and slice m is drawn from keys[m], exactly as
// it would be alone. `p`: one probability for all, or one for each key.
at::Tensor dropout_multipliers(at::IntArrayRef shape, const at::TensorOptions& type, std::span<const double> p,
                               std::span<const Key> keys);

}  // namespace trainlab

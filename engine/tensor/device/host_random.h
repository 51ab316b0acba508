// The functions of tensor/random.h for the host's memory; `out` is a tensor of the CPU.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>

#include "core/random/key.h"

namespace trainlab::host {

void fill_uniform(const at::Tensor& out, Key key, double low, double high);
void fill_normal(const at::Tensor& out, Key key, double mean, double deviation);
at::Tensor dropout_multipliers(at::IntArrayRef shape, at::ScalarType type, std::span<const double> p,
                               std::span<const Key> keys);

}  // namespace trainlab::host

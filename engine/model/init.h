// Initialisers of parameters.
#pragma once

#include "model/layer.h"

namespace trainlab {

Initializer constant(double value);

// U(−1/√fan_in, 1/√fan_in): PyTorch's default for the weights and biases of linear and convolution layers
// (kaiming_uniform_ with a = √5, gain √(2 / (1 + a²)), bound gain·√(3 / fan_in)).
Initializer uniform_by_fan_in(std::int64_t fan_in);

// The option `init` of layers with a weight, and its value for a weight of this shape, or `otherwise` if the option is
// not given.
Option init_option();
Initializer weight_init(const Options& options, const Shape& shape, Initializer otherwise);

}  // namespace trainlab

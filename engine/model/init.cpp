#include "init.h"

#include <ATen/core/Tensor.h>

#include <cmath>

#include "tensor/random.h"

namespace trainlab {

Initializer constant(double value) {
  return [value](const at::Tensor& out, Key) { out.fill_(value); };
}

Initializer uniform_by_fan_in(std::int64_t fan_in) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(fan_in));
  return [bound](const at::Tensor& out, Key key) { fill_uniform(out, key, -bound, bound); };
}

}  // namespace trainlab

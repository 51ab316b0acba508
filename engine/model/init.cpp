#include "init.h"

#include <ATen/core/Tensor.h>

#include <cmath>

#include "model/initial.h"
#include "tensor/random.h"

namespace trainlab {

Initializer constant(double value) {
  return [value](const at::Tensor& out, Key) { out.fill_(value); };
}

Initializer uniform_by_fan_in(std::int64_t fan_in) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(fan_in));
  return [bound](const at::Tensor& out, Key key) { fill_uniform(out, key, -bound, bound); };
}

Option init_option() { return Option("init", "initial values of the weight").entry("init"); }

Initializer weight_init(const Options& options, const Shape& shape, Initializer otherwise) {
  return options.given("init") ? initializer_of(options, "init", shape) : std::move(otherwise);
}

}  // namespace trainlab

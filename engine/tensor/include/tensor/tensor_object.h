// A tensor as an argument of a recipe's function.
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>
#include <utility>

#include "core/callable.h"

namespace trainlab {

class TensorObject : public Object {
 public:
  explicit TensorObject(at::Tensor t) : tensor(std::move(t)) {}
  std::string_view type_name() const override { return "tensor"; }
  at::Tensor tensor;
};

}  // namespace trainlab

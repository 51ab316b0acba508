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

// The tensor that an argument or a result is; null where it is something else.
inline const TensorObject* tensor_in(const Argument& argument) {
  const auto* object = std::get_if<std::shared_ptr<Object>>(&argument);
  return object ? dynamic_cast<const TensorObject*>(object->get()) : nullptr;
}

}  // namespace trainlab

// Names of dtypes and devices, shapes as text, and LibTorch's errors as ours.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/callable.h"
#include "core/error.h"

namespace trainlab {

using Shape = std::vector<std::int64_t>;

std::string shape_text(at::IntArrayRef shape);  // "[32, 1, 8, 8]"
std::int64_t element_count(const Shape& shape);
std::string dtype_name(at::ScalarType type);        // "float32"
at::ScalarType parse_dtype(std::string_view name);  // Error{recipe} with the accepted names
// "auto", "cpu", "cuda", "cuda:1". Error{usage} when the device is not there; "auto" is the GPU where one is usable.
at::Device parse_device(std::string_view name);

// Threads of ATen's operators for this process; call before the first operator. n ≥ 1.
void set_operator_threads(int n);

// Runs f; a c10::Error becomes Error{recipe} with the operator's own words, without its backtrace.
template <class F>
decltype(auto) with_torch_errors(F&& f) {
  try {
    return f();
  } catch (const c10::Error& error) {
    throw recipe_error(error.what_without_backtrace());
  }
}

// A tensor as an argument of a recipe's function.
class TensorObject : public Object {
 public:
  explicit TensorObject(at::Tensor t) : tensor(std::move(t)) {}
  std::string_view type_name() const override { return "tensor"; }
  at::Tensor tensor;
};

}  // namespace trainlab

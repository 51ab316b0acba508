// Tensors as text, for print and messages.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "core/callable.h"

namespace trainlab {

// "float32 [2, 3]", or "sparse_coo float32 [2, 3]", of a defined tensor.
std::string tensor_kind(const at::Tensor& tensor);

// Values in brackets, long axes shortened to their first and last three, then dtype, shape and device:
//   [[1, 2.5],
//    [3, 4]]
//   float32 [2, 2] cpu
// Numbers have at most 5 significant digits. Reads the values, which waits for a device.
std::string tensor_text(const at::Tensor& tensor);

// The result of a recipe's function, for messages: "3", "a tensor of shape [3] (float32)", "an object of type batch".
std::string found_text(const Argument& argument);

}  // namespace trainlab

// A value that a recipe logs: a number, or a tensor with one element, whose value is read later, together with others,
// so that logging does not make the device wait.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <variant>

namespace trainlab {

using Logged = std::variant<double, at::Tensor>;

// Detached. Error{recipe} at `name` for a tensor of several elements.
Logged logged_tensor(const at::Tensor& tensor, const std::string& name);
// Synchronises the tensor's device.
double number_of(const Logged& logged);

}  // namespace trainlab

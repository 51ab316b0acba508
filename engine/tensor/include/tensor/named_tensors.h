// Tensors by name, as a file holds them, and the parts of such a set, told apart by the beginning of the names:
// "model.2.weight" is "2.weight" below "model.". Thread-safe; tensors are shared, not copied.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

#include "core/value.h"

namespace trainlab {

using NamedTensors = std::map<std::string, at::Tensor>;

// The tensors whose names begin with `prefix`; the prefix is removed.
NamedTensors tensors_below(const NamedTensors& all, const std::string& prefix);

// Adds all of `from` with `prefix` before their names. A name that is already in `into` keeps its tensor.
void add_below(NamedTensors& into, const std::string& prefix, const NamedTensors& from);

// The names of tensors that are not on the CPU, as a list; nil if there are none. A file is read to the CPU.
Value names_on_device(const NamedTensors& all);
// Moves the tensors with these names to `device`.
void take_to_device(NamedTensors& all, const Value& names, at::Device device);

}  // namespace trainlab

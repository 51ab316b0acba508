#include "tensor/named_tensors.h"

namespace trainlab {

NamedTensors tensors_below(const NamedTensors& all, const std::string& prefix) {
  NamedTensors some;
  for (auto it = all.lower_bound(prefix); it != all.end() && it->first.starts_with(prefix); ++it)
    some.emplace(it->first.substr(prefix.size()), it->second);
  return some;
}

void add_below(NamedTensors& into, const std::string& prefix, const NamedTensors& from) {
  for (const auto& [name, tensor] : from) into.emplace(prefix + name, tensor);
}

Value names_on_device(const NamedTensors& all) {
  Value::List names;
  for (const auto& [name, tensor] : all)
    if (!tensor.device().is_cpu()) names.emplace_back(name);
  return names.empty() ? Value() : Value(std::move(names));
}

void take_to_device(NamedTensors& all, const Value& names, at::Device device) {
  if (names.is_nil()) return;
  for (const Value& name : names.list()) {
    at::Tensor& tensor = all.at(name.string());
    tensor = tensor.to(device);
  }
}

}  // namespace trainlab

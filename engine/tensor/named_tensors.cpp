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

}  // namespace trainlab

#include "core/callable.h"

#include <stdexcept>

namespace trainlab {

std::shared_ptr<const Spec> Callable::build(std::span<const Argument>) {
  throw std::logic_error("Callable::build: the function at " + where() + " builds no stage");
}

std::shared_ptr<Callable> Spec::function(const Value& placeholder) const {
  const Value& name = placeholder["@"];
  if (!name.is_string() || name.string() != "function") return nullptr;
  return functions.at(static_cast<std::size_t>(placeholder["index"].integer()));
}

}  // namespace trainlab

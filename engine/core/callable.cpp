#include "core/callable.h"

#include <stdexcept>

#include "core/function_error.h"
#include "types.h"

namespace trainlab {

std::shared_ptr<const Spec> Callable::build(std::span<const Argument>) {
  throw std::logic_error("Callable::build: the function at " + where() + " builds no stage");
}

std::shared_ptr<Callable> Spec::function(const Value& placeholder) const {
  const Value& name = placeholder["@"];
  if (!name.is_string() || name.string() != "function") return nullptr;
  return functions.at(static_cast<std::size_t>(placeholder["index"].integer()));
}

Error function_error(const Callable& function, std::string message) {
  return function_error(function.where(), std::move(message));
}

Error function_error(const std::string& where, std::string message) {
  Error error = recipe_error(std::move(message));
  const SourceLine position = position_of(Value(where));
  if (!position.file.empty()) error.at(position.file, position.line);
  return error;
}

}  // namespace trainlab

// The dispatcher's schemas of operators, in a script's terms.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "tensor/operators.h"

namespace trainlab {

inline bool one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Without "aten::".
inline std::string_view base_name(const c10::OperatorHandle& handle) {
  return std::string_view(handle.operator_name().name).substr(std::string_view("aten::").size());
}

struct ScriptType {
  Takes takes;
  bool optional;
};

// nullopt for a type that scripts do not have.
std::optional<ScriptType> script_type(const c10::TypePtr& type);

}  // namespace trainlab

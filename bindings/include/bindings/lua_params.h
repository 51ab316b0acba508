// Params tables: parameters of a trial by name (core/params.h). Values stand in the table itself, so that pairs lists
// them; a name without a value reads as nil, and reading or setting an unknown name is an error.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/value.h"

struct lua_State;

namespace trainlab {

// A new table with these names; a nil is a name without a value.
void push_params(lua_State* L, const Value::Map& values);

// The metatable alone, which tables of the same names can share. The caller fills such a table with raw access.
void push_params_metatable(lua_State* L, std::span<const std::string> names);

// All names of the params table at `index`, in order; nullopt for any other value.
std::optional<std::vector<std::string>> params_names(lua_State* L, int index);

}  // namespace trainlab

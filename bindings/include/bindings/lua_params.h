// Params tables: parameters of a trial by name (core/params.h). Values stand in the table itself, so that pairs gives
// them; a name without a value reads as nil, a name that is not among them is an error, at reading and at setting.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/value.h"

struct lua_State;

namespace trainlab {

// A fresh table with these names; what is nil has no value.
void push_params(lua_State* L, const Value::Map& values);

// The metatable alone, which tables of the same names can share: whoever gives it to a table fills that raw.
void push_params_metatable(lua_State* L, std::span<const std::string> names);

// All names of the params table at `index`, in order; nullopt for any other value.
std::optional<std::vector<std::string>> params_names(lua_State* L, int index);

}  // namespace trainlab

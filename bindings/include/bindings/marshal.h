// Lua values as the engine's data, and back.
//
// Lua tables are read raw: no metamethod runs. A table with positions 1 … n is a list, one with names a map; a mixture,
// a hole, a cycle, more than 100 levels or a million values are errors that name the path. Whole numbers up to 2^53
// are integers. A table that a constructor made becomes an entry map (core/value.h). The reverse makes new tables; an
// integer that a double cannot hold is refused, never rounded.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/callable.h"
#include "core/registry.h"
#include "journal/script_state.h"

struct lua_State;

namespace trainlab {

enum class Functions {
  refuse,  // only plain data is allowed
  mark,    // a function map without the function itself: enough to check a spec
};

// All of these run inside LuaState::enter or in a native function that Lua called; they raise Error.
Value to_value(lua_State* L, int index, Functions functions);
// Functions are added to `functions`.
Value to_value(lua_State* L, int index, std::vector<std::shared_ptr<Callable>>& functions);
// With the functions in it.
Spec to_spec(lua_State* L, int index);
void push_value(lua_State* L, const Value& value);
// Raises Error{recipe} for an integer that is no Lua number.
void push_integer(lua_State* L, std::int64_t x);

// Plain data and tensors, as a recipe keeps them in run.state. What the table at `index` holds beside them is left out
// and told by ScriptState::fault.
ScriptState to_script_state(lua_State* L, int index);
void push_script_state(lua_State* L, const ScriptState& state);

// A function of the recipe for the engine.
std::shared_ptr<Callable> to_callable(lua_State* L, int index);

// An argument or result of a call: data, a native object, or a table with objects in it (ArgumentTable).
void push_argument(lua_State* L, const Argument& argument);
Argument to_argument(lua_State* L, int index);

}  // namespace trainlab

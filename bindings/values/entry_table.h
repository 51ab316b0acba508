// What the marshalling needs to know of the tables that constructors make (lua_entries.cpp).
#pragma once

#include <string>

#include "bindings/lua_state.h"
#include "core/registry.h"

struct lua_State;

namespace trainlab {

// The declaration behind a table that a constructor made; nullptr for any other value.
const Entry* entry_of(lua_State* L, int index);

// Pushes the table in which the options of the entry at `index` stand: itself, or one within.
void push_content(lua_State* L, int index);

// Completes the map of an entry, read from the table at `index`: name, position, the array part under its option's
// name, absolute paths.
void finish_entry(lua_State* L, int index, const Entry& entry, Value::List list, Value::Map& map);

// Where the table of an entry was made: "digits.lua:14", or empty.
std::string made_at(lua_State* L, int index);

// The declaration whose constructor the function at `index` is; nullptr for any other value.
const Entry* constructor_of(lua_State* L, int index);

// Remembers where the script stands if the value on top of the stack, just looked up, is a constructor.
void note_lookup(lua_State* L);

// "a function", "a table", "an object of type run": for messages.
std::string type_text(lua_State* L, int index);

// "digits.lua:18", where a function was written; and such a text taken apart, line 0 where it has none.
std::string function_position(lua_State* L, int index);
LuaPosition position_of_text(const std::string& text);

}  // namespace trainlab

// Facts about the tables that constructors make (lua_entries.cpp), for the marshalling.
#pragma once

#include <string>

#include "bindings/lua_state.h"
#include "core/registry.h"

struct lua_State;

namespace trainlab {

// The declaration behind a table that a constructor made; nullptr for any other value.
const Entry* entry_of(lua_State* L, int index);

// Pushes the table that holds the options of the entry at `index`: the entry itself, or a table within it.
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

// The place where a function was written, "digits.lua:18"; and such a text taken apart, with line 0 if it has none.
std::string function_position(lua_State* L, int index);
LuaPosition position_of_text(const std::string& text);

}  // namespace trainlab

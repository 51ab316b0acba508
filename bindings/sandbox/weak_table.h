// Tables of the Lua registry that attach data to a value of the recipe for as long as the value lives: their keys are
// weak. A table is known by the address of a variable, which recipes cannot make.
#pragma once

struct lua_State;

namespace trainlab {

// Pushes the key that the address of a variable is.
void push_key(lua_State* L, const char& variable);

void open_weak_table(lua_State* L, const char& table);

// Pushes the data attached to the value at `index`, or nil.
void push_from_weak_table(lua_State* L, const char& table, int index);

// Pops a value and attaches it to the value at `index`.
void set_in_weak_table(lua_State* L, const char& table, int index);

}  // namespace trainlab

// Tables of the Lua registry that say what belongs to a value of the recipe as long as that lives: their keys are weak.
// A table is known by the address of a variable, which recipes cannot make.
#pragma once

struct lua_State;

namespace trainlab {

void open_weak_table(lua_State* L, const char& table);

// Pushes what belongs to the value at `index`, or nil.
void push_from_weak_table(lua_State* L, const char& table, int index);

// Pops a value: it belongs to the one at `index` from now on.
void set_in_weak_table(lua_State* L, const char& table, int index);

}  // namespace trainlab

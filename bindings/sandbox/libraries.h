// The library functions of a recipe: an allow-list of LuaJIT's functions in new tables, and functions of our own in
// place of those that can hang, crash, or show secrets (addresses, files).
#pragma once

#include <lua.hpp>

#include "bindings/lua_state.h"

namespace trainlab {

// Inside enter(), once: fills the globals of a new state.
void open_libraries(lua_State* L);

// Each leaves the stack as it is; `table` is the index of the library's table, filled with the native functions.
void open_base(lua_State* L, int table);      // print, tostring
void guard_strings(lua_State* L, int table);  // find, match, gmatch, gsub, format, rep
void open_random(lua_State* L, int table);    // random, randomseed
void open_os(lua_State* L, int table);        // date, time (clock and difftime are native)

// Puts `function` in place of the native function of this name; `table` is the index of the library's table.
void wrap_function(lua_State* L, int table, const char* name, lua_CFunction function);
// In such a function: calls the native function with all values on the stack. Returns the number of its results.
int call_wrapped(lua_State* L);

// tostring as recipes have it: as Lua's, but without addresses, which differ between runs.
int l_tostring(lua_State* L);

}  // namespace trainlab

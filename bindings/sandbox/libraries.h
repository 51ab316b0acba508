// The library functions of a recipe: an allow-list of LuaJIT's functions in new tables, and functions of our own in
// place of those that can hang, crash, or show secrets (addresses, files).
#pragma once

#include "bindings/lua_state.h"

struct lua_State;

namespace trainlab {

// Inside enter(), once: fills the globals of a new state.
void open_libraries(lua_State* L);

// Each leaves the stack as it is; `table` is the index of the library's table, filled with the native functions.
void open_base(lua_State* L, int table);      // print, tostring
void guard_strings(lua_State* L, int table);  // find, match, gmatch, gsub, format, rep
void open_random(lua_State* L, int table);    // random, randomseed
void open_os(lua_State* L, int table);        // date, time (clock and difftime are native)

// tostring as recipes have it: as Lua's, but without addresses, which differ between runs.
int l_tostring(lua_State* L);

// `text` as it may be shown on a terminal: UTF-8, control characters but tab and newline written as \27.
std::string printable(std::string_view text);

}  // namespace trainlab

#include "weak_table.h"

#include <lua.hpp>

namespace trainlab {

namespace {

void push_table(lua_State* L, const char& table) {
  push_key(L, table);
  lua_rawget(L, LUA_REGISTRYINDEX);
}

// Indices from the top move when something is pushed.
int from_bottom(lua_State* L, int index) { return index < 0 ? lua_gettop(L) + 1 + index : index; }

}  // namespace

void push_key(lua_State* L, const char& variable) { lua_pushlightuserdata(L, const_cast<char*>(&variable)); }

void open_weak_table(lua_State* L, const char& table) {
  push_key(L, table);
  lua_newtable(L);
  lua_newtable(L);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
}

void push_from_weak_table(lua_State* L, const char& table, int index) {
  const int value = from_bottom(L, index);
  push_table(L, table);
  lua_pushvalue(L, value);
  lua_rawget(L, -2);
  lua_remove(L, -2);
}

void set_in_weak_table(lua_State* L, const char& table, int index) {
  const int value = from_bottom(L, index);
  push_table(L, table);
  lua_insert(L, -2);
  lua_pushvalue(L, value);
  lua_insert(L, -2);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

}  // namespace trainlab

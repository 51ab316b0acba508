// print and tostring.
#include <lua.hpp>

#include "bindings/lua_error.h"
#include "libraries.h"

namespace trainlab {

int l_tostring(lua_State* L) {
  luaL_checkany(L, 1);
  if (luaL_callmeta(L, 1, "__tostring") != 0) {
    if (lua_type(L, -1) != LUA_TSTRING) return luaL_error(L, "'__tostring' must return a string");
    return 1;
  }
  switch (lua_type(L, 1)) {
    case LUA_TNUMBER:
      lua_settop(L, 1);
      lua_tostring(L, 1);  // in place: a copy of the argument
      return 1;
    case LUA_TSTRING: lua_settop(L, 1); return 1;
    case LUA_TBOOLEAN: lua_pushstring(L, lua_toboolean(L, 1) != 0 ? "true" : "false"); return 1;
    default: lua_pushstring(L, luaL_typename(L, 1)); return 1;
  }
}

namespace {

int l_print(lua_State* L) {
  const int count = lua_gettop(L);
  // Texts first: they may call Lua, and must not meet C++ objects when they raise.
  for (int i = 1; i <= count; ++i) {
    lua_pushcfunction(L, l_tostring);
    lua_pushvalue(L, i);
    lua_call(L, 1, 1);
    lua_replace(L, i);
  }
  return guarded(L, [&] {
    LuaState& state = LuaState::of(L);
    std::string line;
    for (int i = 1; i <= count; ++i) {
      std::size_t length = 0;
      const char* text = lua_tolstring(L, i, &length);
      if (i > 1) line += '\t';
      line.append(text, length);
    }
    state.print(line);
    return 0;
  });
}

}  // namespace

void open_base(lua_State* L, int table) {
  lua_pushcfunction(L, l_print);
  lua_setfield(L, table, "print");
  lua_pushcfunction(L, l_tostring);
  lua_setfield(L, table, "tostring");
}

}  // namespace trainlab

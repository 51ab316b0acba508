#include "bindings/lua_params.h"

#include <lua.hpp>

#include "bindings/lua_error.h"
#include "bindings/marshal.h"
#include "entry_table.h"
#include "namespaces.h"
#include "sandbox/weak_table.h"

namespace trainlab {

namespace {

const char kNames = 0;  // in a metatable: name → true

// Upvalue: the table of names.
bool is_declared(lua_State* L) {
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(1));
  return lua_toboolean(L, -1) != 0;
}

int refuse(lua_State* L) {
  return guarded(L, [&]() -> int {
    const bool text = lua_type(L, 2) == LUA_TSTRING;
    const std::string wanted = text ? lua_tostring(L, 2) : type_text(L, 2);
    Error error = no_member("the space has no parameter " + (text ? "'" + wanted + "'" : wanted), wanted,
                            names_in(L, lua_upvalueindex(1)), "'%'");
    throw error.hint(error.hint() + "; hp has what the space declares, so that `hp.name or value` is never needed");
  });
}

int l_params_index(lua_State* L) {
  if (!is_declared(L)) return refuse(L);
  lua_pushnil(L);
  return 1;
}

int l_params_assign(lua_State* L) {
  if (!is_declared(L)) return refuse(L);
  lua_settop(L, 3);
  lua_rawset(L, 1);
  return 0;
}

}  // namespace

void push_params_metatable(lua_State* L, std::span<const std::string> names) {
  lua_newtable(L);
  lua_createtable(L, 0, static_cast<int>(names.size()));
  for (const std::string& name : names) {
    lua_pushlstring(L, name.data(), name.size());
    lua_pushboolean(L, 1);
    lua_rawset(L, -3);
  }
  push_key(L, kNames);
  lua_pushvalue(L, -2);
  lua_rawset(L, -4);
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, l_params_index, 1);
  lua_setfield(L, -3, "__index");
  lua_pushcclosure(L, l_params_assign, 1);
  lua_setfield(L, -2, "__newindex");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
}

void push_params(lua_State* L, const Value::Map& values) {
  push_value(L, values);
  std::vector<std::string> names;
  for (const auto& [name, value] : values) names.push_back(name);
  push_params_metatable(L, names);
  lua_setmetatable(L, -2);
}

std::optional<std::vector<std::string>> params_names(lua_State* L, int index) {
  if (lua_type(L, index) != LUA_TTABLE || lua_getmetatable(L, index) == 0) return std::nullopt;
  push_key(L, kNames);
  lua_rawget(L, -2);
  std::optional<std::vector<std::string>> names;
  if (lua_istable(L, -1)) names = names_in(L, lua_gettop(L));
  lua_pop(L, 2);
  return names;
}

}  // namespace trainlab

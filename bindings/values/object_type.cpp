#include "object_type.h"

#include <algorithm>
#include <lua.hpp>
#include <string_view>

#include "bindings/lua_error.h"
#include "bindings/lua_object.h"
#include "core/known_elsewhere.h"
#include "core/printable.h"
#include "core/registry.h"
#include "core/words.h"
#include "entry_table.h"

namespace trainlab {

namespace {

// Upvalues: the methods, the readers (name → light userdata), the name of the type.
int l_index(lua_State* L) {
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(1));
  if (!lua_isnil(L, -1)) return 1;
  lua_pop(L, 1);
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(2));
  return guarded(L, [&]() -> int {
    if (auto* function = reinterpret_cast<ObjectType::Function>(lua_touserdata(L, -1))) return function(L);
    const std::string type = lua_tostring(L, lua_upvalueindex(3));
    const std::string wanted = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : type_text(L, 2);
    std::vector<std::string> names;
    for (const int table : {lua_upvalueindex(1), lua_upvalueindex(2)}) {
      lua_pushnil(L);
      while (lua_next(L, table) != 0) {
        lua_pop(L, 1);
        names.emplace_back(lua_tostring(L, -1));
      }
    }
    std::ranges::sort(names);  // Lua's own order differs from run to run
    Error error = recipe_error(type + " has no '" + printable_line(wanted) + "'");
    if (const std::string_view here = member_otherwise(type, wanted); !here.empty())
      throw error.hint(std::string(here));
    const std::string close = Registry::closest(wanted, names);
    throw error.hint(close.empty() ? "it has " + joined(names) : "did you mean " + close + "?");
  });
}

// Upvalues: the setters, the name of the type.
int l_assign(lua_State* L) {
  return guarded(L, [&]() -> int {
    lua_pushvalue(L, 2);
    lua_rawget(L, lua_upvalueindex(1));
    auto* function = reinterpret_cast<ObjectType::Function>(lua_touserdata(L, -1));
    lua_pop(L, 1);
    if (function) return function(L);
    throw recipe_error("the field " + std::string(lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?") + " of " +
                       lua_tostring(L, lua_upvalueindex(2)) + " cannot be set");
  });
}

// Upvalues: the name of the type, and whether it has the method forward().
int l_refuse_call(lua_State* L) {
  return guarded(L, [&]() -> int {
    throw recipe_error(std::string(lua_tostring(L, lua_upvalueindex(1))) + " is not a function")
        .hint(lua_toboolean(L, lua_upvalueindex(2)) != 0 ? "model:forward(x)"
                                                         : "its functions are called with a colon, object:name()");
  });
}

int l_name(lua_State* L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  return 1;
}

void push_table(lua_State* L, const std::vector<ObjectType::Member>& members, bool callable) {
  lua_newtable(L);
  for (const ObjectType::Member& member : members) {
    if (callable) {
      lua_pushcfunction(L, member.function);
    } else {
      lua_pushlightuserdata(L, reinterpret_cast<void*>(member.function));
    }
    lua_setfield(L, -2, member.name);
  }
}

}  // namespace

void refuse_arguments(lua_State* L, const char* method, const char* hint) {
  for (int i = 2; i <= lua_gettop(L); ++i) {
    if (!lua_isnil(L, i)) throw recipe_error("takes no arguments, found " + type_text(L, i)).in(method).hint(hint);
  }
}

void define(lua_State* L, const ObjectType& type) {
  lua_newtable(L);
  push_table(L, type.methods, true);
  push_table(L, type.get, false);
  lua_pushstring(L, type.name);
  lua_pushcclosure(L, l_index, 3);
  lua_setfield(L, -2, "__index");
  push_table(L, type.set, false);
  lua_pushstring(L, type.name);
  lua_pushcclosure(L, l_assign, 2);
  lua_setfield(L, -2, "__newindex");
  const auto is_forward = [](const ObjectType::Member& member) { return std::string_view(member.name) == "forward"; };
  lua_pushstring(L, type.name);
  lua_pushboolean(L, std::ranges::any_of(type.methods, is_forward) ? 1 : 0);
  lua_pushcclosure(L, l_refuse_call, 2);
  lua_setfield(L, -2, "__call");
  if (type.text) {
    lua_pushcfunction(L, type.text);
  } else {
    lua_pushstring(L, type.name);
    lua_pushcclosure(L, l_name, 1);
  }
  lua_setfield(L, -2, "__tostring");
  if (type.length) {
    lua_pushcfunction(L, type.length);
    lua_setfield(L, -2, "__len");
  }
  define_object_type(L, type.name);
}

}  // namespace trainlab

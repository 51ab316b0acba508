// string: what can run long, eat memory, or show addresses, with a guard before the native function.
#include <cstring>
#include <lua.hpp>

#include "bindings/lua_error.h"
#include "libraries.h"
#include "meter.h"

namespace trainlab {

namespace {

// Patterns can take exponential time, where no hook is asked: the watchdog has to know the line.
int l_pattern(lua_State* L) {
  LuaState::of(L).meter().note(L);
  return call_wrapped(L);
}

int l_gmatch(lua_State* L) {
  l_pattern(L);
  lua_settop(L, 1);
  lua_pushcclosure(L, l_pattern, 1);
  return 1;
}

int l_rep(lua_State* L) {
  std::size_t text = 0, separator = 0;
  luaL_checklstring(L, 1, &text);
  const double count = luaL_checknumber(L, 2);
  if (!lua_isnoneornil(L, 3)) luaL_checklstring(L, 3, &separator);
  const double length = count * static_cast<double>(text + separator);
  if (length > static_cast<double>(LuaState::of(L).host().limits.memory)) {
    return luaL_error(L, "string.rep: a text of %.0f bytes is beyond the memory limit of recipes", length);
  }
  if (text + separator == 0) {
    lua_pushliteral(L, "");
    return 1;
  }
  return call_wrapped(L);
}

// %s takes what the own tostring makes of a value, %p does not exist.
int l_format(lua_State* L) {
  const char* p = luaL_checkstring(L, 1);
  int argument = 1;
  while ((p = std::strchr(p, '%'))) {
    ++p;
    if (*p == '%') {
      ++p;
      continue;
    }
    p += std::strspn(p, "-+ #0123456789.");
    ++argument;
    if (*p == 'p') return luaL_error(L, "string.format: there is no '%%p' in recipes: addresses differ between runs");
    if (*p == 's' && argument <= lua_gettop(L) && lua_type(L, argument) != LUA_TSTRING) {
      lua_pushcfunction(L, l_tostring);
      lua_pushvalue(L, argument);
      lua_call(L, 1, 1);
      lua_replace(L, argument);
    }
  }
  return call_wrapped(L);
}

}  // namespace

void guard_strings(lua_State* L, int table) {
  for (const char* name : {"find", "match", "gsub"}) wrap_function(L, table, name, l_pattern);
  wrap_function(L, table, "gmatch", l_gmatch);
  wrap_function(L, table, "rep", l_rep);
  wrap_function(L, table, "format", l_format);
}

}  // namespace trainlab

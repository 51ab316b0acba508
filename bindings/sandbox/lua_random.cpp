// math.random on the state's keyed stream, and os.time and os.date at the run's start: a recipe that is executed again,
// in another process, gets the same.
#include <bit>
#include <cmath>
#include <lua.hpp>

#include "bindings/lua_error.h"
#include "core/value.h"
#include "libraries.h"

namespace trainlab {

namespace {

// Arguments as in Lua 5.1: none: [0, 1); m: 1 … m; m, n: m … n.
int l_random(lua_State* L) {
  Stream& stream = LuaState::of(L).random();
  const int count = lua_gettop(L);
  if (count == 0) {
    lua_pushnumber(L, stream.uniform());
    return 1;
  }
  const double low = count == 1 ? 1 : std::floor(luaL_checknumber(L, 1));
  const double high = std::floor(luaL_checknumber(L, count == 1 ? 1 : 2));
  if (!(std::fabs(low) <= largest_exact && std::fabs(high) <= largest_exact))
    return luaL_error(L, "random: limits beyond 2^53");
  if (low > high) return luaL_error(L, "random: nothing lies between %f and %f", low, high);
  const auto span = static_cast<std::uint64_t>(static_cast<std::int64_t>(high) - static_cast<std::int64_t>(low)) + 1;
  lua_pushnumber(L,
                 static_cast<double>(static_cast<std::int64_t>(low) + static_cast<std::int64_t>(stream.below(span))));
  return 1;
}

int l_randomseed(lua_State* L) {
  const double seed = luaL_checknumber(L, 1);
  LuaState& state = LuaState::of(L);
  state.rekey(
      Key(static_cast<std::uint64_t>(state.host().seed)).fold("randomseed").fold(std::bit_cast<std::uint64_t>(seed)));
  return 0;
}

int l_time(lua_State* L) {
  if (lua_gettop(L) > 0) return call_wrapped(L);
  lua_pushnumber(L, std::floor(LuaState::of(L).host().started));
  return 1;
}

int l_date(lua_State* L) {
  if (lua_gettop(L) == 0) lua_pushliteral(L, "%c");
  if (lua_gettop(L) == 1) lua_pushnumber(L, std::floor(LuaState::of(L).host().started));
  lua_settop(L, 2);
  return call_wrapped(L);
}

}  // namespace

void open_random(lua_State* L, int table) {
  lua_pushcfunction(L, l_random);
  lua_setfield(L, table, "random");
  lua_pushcfunction(L, l_randomseed);
  lua_setfield(L, table, "randomseed");
}

void open_os(lua_State* L, int table) {
  wrap_function(L, table, "time", l_time);
  wrap_function(L, table, "date", l_date);
}

}  // namespace trainlab

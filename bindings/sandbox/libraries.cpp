#include "libraries.h"

#include <array>
#include <lua.hpp>

#include "bindings/lua_error.h"
#include "core/known_elsewhere.h"
#include "meter.h"
#include "other_languages.h"
#include "values/entry_table.h"
#include "values/namespaces.h"

namespace trainlab {

namespace {

constexpr const char* kBase[] = {"assert",       "collectgarbage", "error",    "getmetatable", "ipairs",  "next",
                                 "pairs",        "pcall",          "rawequal", "rawget",       "rawset",  "select",
                                 "setmetatable", "tonumber",       "type",     "unpack",       "_VERSION"};
constexpr const char* kTable[] = {"concat", "insert", "maxn", "move", "remove", "sort"};
constexpr const char* kString[] = {"byte",  "char",  "find", "format",  "gmatch", "gsub", "len",
                                   "lower", "match", "rep",  "reverse", "sub",    "upper"};
constexpr const char* kMath[] = {"abs",   "acos", "asin",  "atan", "atan2", "ceil", "cos",   "cosh", "deg", "exp",
                                 "floor", "fmod", "frexp", "huge", "ldexp", "log",  "log10", "max",  "min", "modf",
                                 "pi",    "pow",  "rad",   "sin",  "sinh",  "sqrt", "tan",   "tanh"};
constexpr const char* kBit[] = {"arshift", "band", "bnot", "bor",    "bswap", "bxor",
                                "lshift",  "rol",  "ror",  "rshift", "tobit", "tohex"};
constexpr const char* kCoroutine[] = {"create", "isyieldable", "resume", "running", "status", "wrap", "yield"};
constexpr const char* kOs[] = {"clock", "date", "difftime", "time"};

void open_native(lua_State* L, lua_CFunction opener, const char* name) {
  lua_pushcfunction(L, opener);
  lua_pushstring(L, name);
  lua_call(L, 1, 0);
}

// Pushes a new table with the named members of the global table `library` ("" for the globals themselves).
template <std::size_t N>
void push_allowed(lua_State* L, const char* library, const char* const (&names)[N]) {
  lua_newtable(L);
  if (*library) {
    lua_getglobal(L, library);
  } else {
    lua_pushvalue(L, LUA_GLOBALSINDEX);
  }
  for (const char* name : names) {
    lua_getfield(L, -1, name);
    lua_setfield(L, -3, name);
  }
  lua_pop(L, 1);
}

// "collect" and "count"; the others change how the collector works.
int l_collectgarbage(lua_State* L) {
  static const char* const options[] = {"collect", "count", nullptr};
  const bool count = luaL_checkoption(L, 1, "collect", options) == 1;
  if (count) {
    lua_pushnumber(L, lua_gc(L, LUA_GCCOUNT, 0) + lua_gc(L, LUA_GCCOUNTB, 0) / 1024.0);
  } else {
    LuaState::of(L).meter().note(L);
    lua_pushinteger(L, lua_gc(L, LUA_GCCOLLECT, 0));
  }
  return 1;
}

// Errors for globals that are not there: a misspelt name is nil nowhere.
int l_undefined(lua_State* L) {
  return guarded(L, [&]() -> int {
    const std::string name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?";
    std::vector<std::string> names;
    lua_pushnil(L);
    while (lua_next(L, 1) != 0) {
      lua_pop(L, 1);
      if (lua_type(L, -1) == LUA_TSTRING) names.emplace_back(lua_tostring(L, -1));
    }
    Error error = recipe_error("'" + name + "' is not defined");
    if (const std::string_view here = global_elsewhere(name); !here.empty()) throw error.hint(std::string(here));
    if (is_lab_member(L, name)) throw error.hint("did you mean lab." + name + "?");
    static constexpr std::string_view absent[] = {"io",   "package",    "debug",  "jit",     "ffi",
                                                  "load", "loadstring", "dofile", "loadfile"};
    for (const std::string_view known : absent) {
      if (name == known) throw error.hint("recipes have no '" + name + "'; what they have is in the recipe guide");
    }
    const std::string close = Registry::closest(name, names);
    if (!close.empty()) throw error.hint("did you mean '" + close + "'?");
    if (const std::string_view here = member_otherwise(name); !here.empty()) throw error.hint(std::string(here));
    if (const std::string meant = names_elsewhere(L, name); !meant.empty())
      throw error.hint("did you mean " + meant + "?");
    throw error;
  });
}

int l_new_global(lua_State* L) {
  return guarded(L, [&]() -> int {
    const std::string name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?";
    const Entry* entry = entry_of(L, 3);
    const bool is_stage = entry && entry->kind == "stage";
    throw recipe_error("assignment to '" + name + "', which is not a local variable")
        .hint(is_stage ? "write: return lab." + entry->name + " { … }, or local " + name + " = lab.run(lab." +
                             entry->name + " { … })"
                       : "write: local " + name + " = …");
  });
}

// The standard library in Lua. Each file is called with the new globals and the state's limits.
void run_stdlib(lua_State* L, int globals) {
  const LuaHost& host = LuaState::of(L).host();
  for (const LuaSource& source : host.stdlib) {
    const std::string name = "=stdlib/" + source.name;
    if (luaL_loadbufferx(L, source.text.data(), source.text.size(), name.c_str(), "t") != 0) lua_error(L);
    lua_pushvalue(L, globals);
    lua_newtable(L);
    lua_pushinteger(L, host.limits.coroutines);
    lua_setfield(L, -2, "coroutines");
    lua_call(L, 2, 0);
  }
}

}  // namespace

void open_libraries(lua_State* L) {
  open_native(L, luaopen_base, "");
  open_native(L, luaopen_table, LUA_TABLIBNAME);
  open_native(L, luaopen_string, LUA_STRLIBNAME);
  open_native(L, luaopen_math, LUA_MATHLIBNAME);
  open_native(L, luaopen_bit, LUA_BITLIBNAME);
  open_native(L, luaopen_os, LUA_OSLIBNAME);

  push_allowed(L, "", kBase);
  const int globals = lua_gettop(L);
  lua_pushcfunction(L, l_collectgarbage);
  lua_setfield(L, globals, "collectgarbage");
  open_base(L, globals);

  push_allowed(L, LUA_STRLIBNAME, kString);
  guard_strings(L, lua_gettop(L));
  lua_newtable(L);  // the metatable of strings
  lua_pushvalue(L, -2);
  lua_setfield(L, -2, "__index");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_pushliteral(L, "");
  lua_insert(L, -2);
  lua_setmetatable(L, -2);
  lua_pop(L, 1);
  lua_setfield(L, globals, "string");

  push_allowed(L, LUA_MATHLIBNAME, kMath);
  open_random(L, lua_gettop(L));
  lua_setfield(L, globals, "math");
  push_allowed(L, LUA_OSLIBNAME, kOs);
  open_os(L, lua_gettop(L));
  lua_setfield(L, globals, "os");
  push_allowed(L, LUA_TABLIBNAME, kTable);
  lua_setfield(L, globals, "table");
  push_allowed(L, LUA_BITLIBNAME, kBit);
  lua_setfield(L, globals, "bit");
  push_allowed(L, LUA_COLIBNAME, kCoroutine);
  lua_setfield(L, globals, "coroutine");
  lua_pushvalue(L, globals);
  lua_setfield(L, globals, "_G");

  // Nothing leads back to the native libraries: not the globals of the state, not the table of loaded modules, which
  // is also where LuaJIT would leave FFI when it loads that by itself.
  lua_pushnil(L);
  lua_setfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_pushvalue(L, globals);
  lua_replace(L, LUA_GLOBALSINDEX);

  run_stdlib(L, globals);

  lua_newtable(L);
  lua_pushcfunction(L, l_undefined);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, l_new_global);
  lua_setfield(L, -2, "__newindex");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_setmetatable(L, globals);
}

void wrap_function(lua_State* L, int table, const char* name, lua_CFunction function) {
  lua_getfield(L, table, name);
  lua_pushcclosure(L, function, 1);
  lua_setfield(L, table, name);
}

int call_wrapped(lua_State* L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

}  // namespace trainlab

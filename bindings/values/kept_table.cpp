#include "kept_table.h"

#include <lua.hpp>

#include "bindings/lua_state.h"
#include "bindings/marshal.h"

namespace trainlab {

namespace {

struct Reader {
  std::shared_ptr<KeptTable> table;
  ScriptState operator()() const { return table->read(); }
};

}  // namespace

KeptTable::KeptTable(lua_State* L, const ScriptState& state, std::string name)
    : life_(LuaState::of(L).life()), name_(std::move(name)) {
  if (state.value.is_nil()) {
    lua_newtable(L);
  } else {
    push_script_state(L, state);
  }
  reference_ = luaL_ref(L, LUA_REGISTRYINDEX);
}

KeptTable::~KeptTable() {
  if (*life_) luaL_unref(*life_, LUA_REGISTRYINDEX, reference_);
}

void KeptTable::push(lua_State* L) const { lua_rawgeti(L, LUA_REGISTRYINDEX, reference_); }

ScriptState KeptTable::read() const {
  ScriptState state;
  LuaState::of(*life_).enter([&](lua_State* L) {
    push(L);
    state = to_script_state(L, lua_gettop(L));
    if (!state.fault) return;
    state.fault =
        Error(state.fault->kind(), state.fault->message() + "; " + name_ +
                                       " is saved with each checkpoint, and holds numbers, booleans, texts, tensors, "
                                       "and lists and tables by name of these")
            .in(state.fault->path())
            .in(name_);
  });
  return state;
}

void KeptTable::replace(const ScriptState& state) const {
  LuaState::of(*life_).enter([&](lua_State* L) {
    push(L);
    const int table = lua_gettop(L);
    lua_pushnil(L);
    while (lua_next(L, table) != 0) {  // to clear fields while they are traversed is allowed
      lua_pop(L, 1);
      lua_pushvalue(L, -1);
      lua_pushnil(L);
      lua_rawset(L, table);
    }
    push_script_state(L, state);
    lua_pushnil(L);
    while (lua_next(L, -2) != 0) {
      lua_pushvalue(L, -2);
      lua_insert(L, -2);
      lua_rawset(L, table);
    }
  });
}

std::shared_ptr<KeptTable> kept_table(lua_State* L, std::function<ScriptState()>& reader, const ScriptState& state,
                                      const char* name) {
  if (!reader) reader = Reader{std::make_shared<KeptTable>(L, state, name)};
  return reader.target<Reader>()->table;
}

}  // namespace trainlab

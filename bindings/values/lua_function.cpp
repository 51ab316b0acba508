// Callable: a recipe's function as the engine calls it.
#include <cstdlib>
#include <lua.hpp>
#include <set>
#include <utility>

#include "bindings/lua_entries.h"
#include "bindings/lua_state.h"
#include "bindings/marshal.h"
#include "core/params.h"
#include "entry_table.h"
#include "objects/run_handle.h"

namespace trainlab {

namespace {

// Random numbers of a callback are its own: the recipe draws on as if it had not been called, as it does in a later
// process, in which a finished stage calls nothing.
class OwnRandom {
 public:
  OwnRandom(LuaState& state, Key key) : state_(state), outer_(state.random()) { state.rekey(key); }
  ~OwnRandom() { state_.random() = outer_; }
  OwnRandom(const OwnRandom&) = delete;

 private:
  LuaState& state_;
  const Stream outer_;
};

// Adds the text of the value at `index`: of a function its lines and the values that it uses, of a table of data and of
// an entry their values; nothing of objects and of what trainlab itself gave. `seen`: functions and tables that were
// added.
void add_text(lua_State* L, int index, std::string& text, std::set<const void*>& seen) {
  switch (lua_type(L, index)) {
    case LUA_TNUMBER: text += number_text(lua_tonumber(L, index)); return;
    case LUA_TSTRING: text += "\"" + std::string(lua_tostring(L, index)) + "\""; return;
    case LUA_TBOOLEAN: text += lua_toboolean(L, index) != 0 ? "true" : "false"; return;
    case LUA_TTABLE:
    case LUA_TFUNCTION: break;
    default: return;
  }
  if (lua_checkstack(L, 10) == 0 || !seen.insert(lua_topointer(L, index)).second) return;
  if (lua_istable(L, index)) {
    const Entry* entry = entry_of(L, index);
    if (entry) {
      text += entry->name;
    } else if (lua_getmetatable(L, index) != 0) {
      lua_pop(L, 1);
      return;
    }
    push_content(L, index);
    const int content = lua_gettop(L);
    // Sorted, because the order in which Lua goes through a table may depend on addresses. Keys that are neither
    // numbers nor strings have no text.
    std::multiset<std::pair<std::string, std::string>> members;
    lua_pushnil(L);
    while (lua_next(L, content) != 0) {
      std::string key, value;
      if (lua_type(L, -2) == LUA_TNUMBER || lua_type(L, -2) == LUA_TSTRING) add_text(L, lua_gettop(L) - 1, key, seen);
      add_text(L, lua_gettop(L), value, seen);
      members.emplace(std::move(key), std::move(value));
      lua_pop(L, 1);
    }
    lua_pop(L, 1);
    for (const auto& [key, value] : members) text += "\n" + key + " = " + value;
    return;
  }
  lua_Debug ar;
  lua_pushvalue(L, index);
  lua_getinfo(L, ">S", &ar);
  if (ar.source[0] != '@') return;
  text += LuaState::of(L).function_text(ar.source + 1, ar.linedefined, ar.lastlinedefined);
  for (int i = 1; const char* name = lua_getupvalue(L, index, i); ++i) {
    text += std::string("\n") + name + " = ";
    add_text(L, lua_gettop(L), text, seen);
    lua_pop(L, 1);
  }
}

class LuaFunction final : public Callable {
 public:
  LuaFunction(lua_State* L, int index)
      : life_(LuaState::of(L).life()),
        where_(function_position(L, index)),
        key_(Key(static_cast<std::uint64_t>(LuaState::of(L).host().seed)).fold("function")) {
    lua_pushvalue(L, index);
    reference_ = luaL_ref(L, LUA_REGISTRYINDEX);
  }
  ~LuaFunction() override {
    if (*life_) luaL_unref(*life_, LUA_REGISTRYINDEX, reference_);
  }
  LuaFunction(const LuaFunction&) = delete;

  std::vector<Argument> call(std::span<const Argument> arguments) override {
    std::vector<Argument> results;
    call(arguments, LuaState::Part::callback, [&](lua_State* L, int first) {
      for (int i = first; i <= lua_gettop(L); ++i) {
        try {
          results.push_back(to_argument(L, i));
        } catch (Error& error) {
          throw error.in("result " + std::to_string(i - first + 1) + " of the function at " + where_);
        }
      }
    });
    for (const Argument& argument : arguments) tell_run(argument);
    return results;
  }

  std::shared_ptr<const Spec> build(std::span<const Argument> arguments) override {
    std::shared_ptr<const Spec> stage;
    call(arguments, LuaState::Part::build, [&](lua_State* L, int first) {
      require_unchanged(L, first, arguments);
      const Entry* entry = entry_of(L, first);
      if (!entry || entry->kind != "stage") {
        const LuaPosition at = position_of_text(where_);
        throw recipe_error("build returned " + (first > lua_gettop(L) ? "nothing" : type_text(L, first)) +
                           "; expected lab.fit { … } or lab.task { … }")
            .at(at.file, at.line);
      }
      stage = to_stage(L, first, "build returns");
    });
    return stage;
  }

  void rekey(Key key) override {
    static_cast<void>(state());  // asserts the thread
    key_ = key;
  }
  const std::string& where() const override { return where_; }

  std::string text() const override {
    std::string text;
    state().enter([&](lua_State* L) {
      lua_rawgeti(L, LUA_REGISTRYINDEX, reference_);
      std::set<const void*> seen;
      add_text(L, lua_gettop(L), text, seen);
    });
    return text;
  }

 private:
  void tell_run(const Argument& argument) {
    const auto* object = std::get_if<std::shared_ptr<Object>>(&argument);
    auto* run = object ? dynamic_cast<RunHandle*>(object->get()) : nullptr;
    if (run) run->called(where_, !std::exchange(was_called_, true));
  }

  // A trial must be recorded with the values with which it was built.
  void require_unchanged(lua_State* L, int first, std::span<const Argument> arguments) const {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const auto* object = std::get_if<std::shared_ptr<Object>>(&arguments[i]);
      const auto* params = object ? dynamic_cast<const Params*>(object->get()) : nullptr;
      if (!params) continue;
      for (const auto& [name, value] : params->values) {
        lua_getfield(L, first - static_cast<int>(arguments.size() - i), name.c_str());
        push_value(L, value);
        const bool is_same = lua_rawequal(L, -1, -2) != 0 || value.is_list() || value.is_map();
        lua_pop(L, 2);
        if (is_same) continue;
        const LuaPosition at = position_of_text(where_);
        throw recipe_error("build changes hp." + name + ", and its trial would be recorded with another value")
            .at(at.file, at.line)
            .hint("copy it: local " + name + " = hp." + name);
      }
    }
  }

  // `use` takes the results, which stand on the stack from `first` on; the arguments stand before them.
  template <class Use>
  void call(std::span<const Argument> arguments, LuaState::Part part, Use&& use) {
    LuaState& state = this->state();
    const OwnRandom random(state, key_);
    state.enter([&](lua_State* L) {
      for (const Argument& argument : arguments) push_argument(L, argument);
      lua_rawgeti(L, LUA_REGISTRYINDEX, reference_);
      const int first = lua_gettop(L), count = static_cast<int>(arguments.size());
      for (int i = 0; i < count; ++i) lua_pushvalue(L, first - count + i);
      try {
        state.call(L, count, LUA_MULTRET, part);
      } catch (Error& error) {
        if (error.file().empty() && error.kind() == ErrorKind::recipe) place(L, error);
        throw;
      }
      use(L, first);
    });
  }

  // Gives an error the line of the function's `return f(x)`, which Lua has forgotten.
  void place(lua_State* L, Error& error) const {
    lua_Debug ar;
    lua_rawgeti(L, LUA_REGISTRYINDEX, reference_);
    lua_getinfo(L, ">S", &ar);
    if (ar.source[0] != '@') return;
    const std::string file = ar.source + 1;
    error.at(file, LuaState::of(L).return_line(file, ar.linedefined, ar.lastlinedefined, ar.linedefined));
  }

  LuaState& state() const {
    if (!*life_) throw std::logic_error("a recipe's function was used after its Lua state");
    LuaState& state = LuaState::of(*life_);
    state.assert_home();
    return state;
  }

  std::shared_ptr<lua_State*> life_;
  std::string where_;
  Key key_;
  int reference_ = LUA_NOREF;
  bool was_called_ = false;  // with a run
};

}  // namespace

std::shared_ptr<Callable> to_callable(lua_State* L, int index) { return std::make_shared<LuaFunction>(L, index); }

std::string function_position(lua_State* L, int index) {
  lua_Debug ar;
  lua_pushvalue(L, index);
  lua_getinfo(L, ">S", &ar);
  return ar.source[0] == '@' ? std::string(ar.source + 1) + ":" + std::to_string(ar.linedefined) : "a library function";
}

LuaPosition position_of_text(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return {};
  return {text.substr(0, colon), std::atoi(text.c_str() + colon + 1)};
}

}  // namespace trainlab

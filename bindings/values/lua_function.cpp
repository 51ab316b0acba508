// Callable: a recipe's function as the engine calls it.
#include <cstdlib>
#include <lua.hpp>

#include "bindings/lua_entries.h"
#include "bindings/lua_state.h"
#include "bindings/marshal.h"
#include "core/params.h"
#include "entry_table.h"

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

 private:
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
      state.call(L, count, LUA_MULTRET, part);
      use(L, first);
    });
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

#include "lua_train.h"

#include <lua.hpp>
#include <map>
#include <optional>

#include "bindings/lua_error.h"
#include "bindings/lua_object.h"
#include "bindings/lua_state.h"
#include "bindings/marshal.h"
#include "call_arguments.h"
#include "train/run_handle.h"

namespace trainlab {

namespace {

// run.metrics: reads through to the run.
class Metrics final : public Object {
 public:
  explicit Metrics(std::shared_ptr<Object> run) : run_(std::move(run)) {}
  std::string_view type_name() const override { return "run.metrics"; }
  const RunHandle& run() const { return dynamic_cast<const RunHandle&>(*run_); }

 private:
  std::shared_ptr<Object> run_;
};

// The table run.state: lives with the state of Lua from the first access on, until the run ends.
class StateTable {
 public:
  StateTable(lua_State* L, const RunHandle& run) : life_(LuaState::of(L).life()), key_(&run) {
    push_value(L, run.state.is_nil() ? Value(Value::Map{}) : run.state);
    lua_pushlightuserdata(L, const_cast<void*>(key_));
    lua_insert(L, -2);
    lua_rawset(L, LUA_REGISTRYINDEX);
  }
  ~StateTable() {
    if (!*life_) return;
    lua_pushlightuserdata(*life_, const_cast<void*>(key_));
    lua_pushnil(*life_);
    lua_rawset(*life_, LUA_REGISTRYINDEX);
  }
  StateTable(const StateTable&) = delete;

  Value read() const {
    Value value;
    LuaState& state = LuaState::of(*life_);
    state.enter([&](lua_State* L) {
      lua_pushlightuserdata(L, const_cast<void*>(key_));
      lua_rawget(L, LUA_REGISTRYINDEX);
      try {
        value = to_value(L, -1, Functions::refuse);
      } catch (Error& error) {
        throw error.in("run.state");
      }
    });
    return value;
  }

 private:
  std::shared_ptr<lua_State*> life_;
  const void* key_;
};

void push_state(lua_State* L, RunHandle& run) {
  if (!run.read_state) {
    run.read_state = [table = std::make_shared<StateTable>(L, run)] { return table->read(); };
  }
  lua_pushlightuserdata(L, &run);
  lua_rawget(L, LUA_REGISTRYINDEX);
}

struct Method {
  void (*call)(RunHandle&, const Value& options);
  bool works = false;  // does work at once, for which the limits of the script wait; the others only take notes
};

const std::map<std::string, Method, std::less<>>& methods() {
  static const std::map<std::string, Method, std::less<>> all{
      {"stop", {[](RunHandle& run, const Value& o) { run.stop(o["reason"].string()); }}},
      {"set_lr", {[](RunHandle& run, const Value& o) { run.set_lr(o["rate"].number()); }}},
      {"save", {[](RunHandle& run, const Value& o) { run.save(o["name"].string()); }}},
      {"log", {[](RunHandle& run, const Value& o) { run.log(o["name"].string(), o["value"].number()); }}},
      {"artifact",
       {[](RunHandle& run, const Value& o) { run.artifact(o["name"].string(), o["text"].string()); }, true}},
  };
  return all;
}

// Upvalues: the entry, the method.
int l_method(lua_State* L) {
  return guarded(L, [&] {
    const auto& entry = *static_cast<const Entry*>(lua_touserdata(L, lua_upvalueindex(1)));
    const auto& method = *static_cast<const Method*>(lua_touserdata(L, lua_upvalueindex(2)));
    auto& run = check_object<RunHandle>(L, 1, "run");
    const Registry& registry = *LuaState::of(L).host().registry;
    const Value options = registry.check(CallArguments(L, entry, CallArguments::Receiver::object).map(registry));
    std::optional<EngineWork> work;
    if (method.works) work.emplace(L);
    method.call(run, options);
    return 0;
  });
}

[[noreturn]] void unknown_member(const std::string& name) {
  std::vector<std::string> names{"step", "epoch", "samples", "metrics", "state"};
  for (const auto& [method, function] : methods()) names.push_back(method);
  Error error = recipe_error("run has no '" + name + "'");
  const std::string close = Registry::closest(name, names);
  if (!close.empty()) error.hint("did you mean run." + close + "?");
  throw error;
}

// Upvalue: the table of methods.
int l_run_index(lua_State* L) {
  return guarded(L, [&] {
    auto& run = check_object<RunHandle>(L, 1, "run");
    const std::string name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?";
    if (name == "step") {
      lua_pushnumber(L, static_cast<double>(run.step()));
    } else if (name == "epoch") {
      lua_pushnumber(L, static_cast<double>(run.epoch()));
    } else if (name == "samples") {
      lua_pushnumber(L, static_cast<double>(run.samples()));
    } else if (name == "metrics") {
      push_object(L, std::make_shared<Metrics>(to_object(L, 1)));
    } else if (name == "state") {
      push_state(L, run);
    } else {
      lua_getfield(L, lua_upvalueindex(1), name.c_str());
      if (lua_isnil(L, -1)) unknown_member(name);
    }
    return 1;
  });
}

int l_read_only(lua_State* L) {
  return guarded(L, [&]() -> int {
    throw recipe_error("the fields of run cannot be set")
        .hint("what is to be kept belongs into run.state: run.state.name = value");
  });
}

int l_metrics_index(lua_State* L) {
  return guarded(L, [&] {
    const auto& metrics = check_object<Metrics>(L, 1, "run.metrics");
    if (lua_type(L, 2) != LUA_TSTRING) throw recipe_error("metrics are read by name: run.metrics[\"val.loss\"]");
    lua_pushnumber(L, metrics.run().metric(lua_tostring(L, 2)));
    return 1;
  });
}

int l_text(lua_State* L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  return 1;
}

void define(lua_State* L, const char* type, lua_CFunction index, int index_upvalues) {
  lua_pushcclosure(L, index, index_upvalues);
  lua_newtable(L);
  lua_insert(L, -2);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, l_read_only);
  lua_setfield(L, -2, "__newindex");
  lua_pushstring(L, type);
  lua_pushcclosure(L, l_text, 1);
  lua_setfield(L, -2, "__tostring");
  define_object_type(L, type);
}

}  // namespace

void open_train(lua_State* L) {
  const Registry& registry = *LuaState::of(L).host().registry;
  lua_newtable(L);
  for (const auto& [name, method] : methods()) {
    const Entry* entry = registry.find("run:" + name);
    if (!entry) continue;  // a registry without trainlab's training
    lua_pushlightuserdata(L, const_cast<Entry*>(entry));
    lua_pushlightuserdata(L, const_cast<Method*>(&method));
    lua_pushcclosure(L, l_method, 2);
    lua_setfield(L, -2, name.c_str());
  }
  define(L, "run", l_run_index, 1);
  define(L, "run.metrics", l_metrics_index, 0);
}

}  // namespace trainlab

#include "lua_train.h"

#include <algorithm>
#include <lua.hpp>
#include <map>
#include <optional>

#include "bindings/lua_error.h"
#include "bindings/lua_object.h"
#include "bindings/lua_state.h"
#include "bindings/marshal.h"
#include "core/known_elsewhere.h"
#include "core/printable.h"
#include "objects/run_handle.h"
#include "tensor/lua_tensor.h"
#include "values/artifact_argument.h"
#include "values/call_arguments.h"
#include "values/entry_table.h"
#include "values/kept_table.h"

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

// run.model, run.optim: the only one, or a table by name.
void push_objects(lua_State* L, const RunHandle::Objects& objects) {
  if (objects.contains("")) {
    push_object(L, objects.at(""));
    return;
  }
  lua_newtable(L);
  for (const auto& [name, object] : objects) {
    push_object(L, object);
    lua_setfield(L, -2, name.c_str());
  }
}

struct Method {
  void (*call)(lua_State* L, RunHandle&, const Value& options);
};

const std::map<std::string, Method, std::less<>>& methods() {
  static const std::map<std::string, Method, std::less<>> all{
      {"stop", {[](lua_State*, RunHandle& run, const Value& o) { run.stop(o["reason"].string()); }}},
      {"set_lr", {[](lua_State* L, RunHandle& run, const Value& o) {
         run.set_lr({.rate = o["rate"].number(), .place = LuaState::position(L).text()});
       }}},
      {"save", {[](lua_State*, RunHandle& run, const Value& o) { run.save(o["name"].string()); }}},
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
    method.call(L, run, options);
    return 0;
  });
}

// These two take tensors, which are no data that the registry could check.
int l_run_log(lua_State* L) {
  return guarded(L, [&] {
    auto& run = check_object<RunHandle>(L, 1, "run");
    const std::string name = name_at(L, 2, "run:log");
    run.log(name, logged_at(L, 3, "run:log"));
    return 0;
  });
}

int l_run_artifact(lua_State* L) {
  return guarded(L, [&] {
    auto& run = check_object<RunHandle>(L, 1, "run");
    const std::string name = name_at(L, 2, "run:artifact");
    const Artifact content = artifact_at(L, 3, name, "run:artifact");
    const EngineWork work(L);
    run.artifact(name, content);
    return 0;
  });
}

// The metric that a recipe means by run.NAME: "val.loss" for loss, val_loss or val; empty if none.
std::string metric_called(const std::string& name, const RunHandle& run) {
  std::string best;
  std::string dotted = name;
  std::ranges::replace(dotted, '_', '.');
  for (const std::string& metric : run.metric_names()) {
    if (metric == dotted || metric.substr(metric.find('.') + 1) == name) best = metric;
  }
  return best;
}

[[noreturn]] void unknown_member(const std::string& name, const RunHandle& run) {
  std::vector<std::string> names{"step",  "epoch", "samples", "metrics", "state",
                                 "model", "optim", "profile", "log",     "artifact"};
  for (const auto& [method, function] : methods()) names.push_back(method);
  Error error = recipe_error("run has no '" + printable_line(name) + "'");
  if (const std::string metric = metric_called(name, run); !metric.empty())
    throw error.hint("metrics are read by their full names: run.metrics[\"" + metric + "\"]");
  if (const std::string_view here = member_otherwise("run", name); !here.empty()) throw error.hint(std::string(here));
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
    } else if (name == "profile") {
      push_value(L, run.speed());
    } else if (name == "state") {
      kept_table(L, run.read_state, run.state, "run.state")->push(L);
    } else if (name == "model") {
      push_objects(L, run.models());
    } else if (name == "optim") {
      push_objects(L, run.optimizers());
    } else {
      lua_getfield(L, lua_upvalueindex(1), name.c_str());
      if (lua_isnil(L, -1)) unknown_member(name, run);
    }
    return 1;
  });
}

int l_read_only(lua_State* L) {
  return guarded(L, [&]() -> int {
    throw recipe_error("the fields of run cannot be set")
        .hint("values to keep belong into run.state: run.state.name = value");
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
  lua_pushcfunction(L, l_run_log);
  lua_setfield(L, -2, "log");
  lua_pushcfunction(L, l_run_artifact);
  lua_setfield(L, -2, "artifact");
  define(L, "run", l_run_index, 1);
  define(L, "run.metrics", l_metrics_index, 0);
}

}  // namespace trainlab

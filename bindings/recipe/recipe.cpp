#include "bindings/recipe.h"

#include <lua.hpp>

#include "bindings/lua_entries.h"
#include "bindings/lua_error.h"
#include "bindings/marshal.h"
#include "core/files.h"
#include "modules.h"
#include "tensor/lua_tensor.h"
#include "values/call_arguments.h"
#include "wrap/lua_batch.h"
#include "wrap/lua_loop.h"
#include "wrap/lua_model.h"
#include "wrap/lua_recompute.h"
#include "wrap/lua_result.h"
#include "wrap/lua_rng.h"
#include "wrap/lua_study.h"
#include "wrap/lua_task.h"
#include "wrap/lua_train.h"
#include "wrap/opened_data.h"

namespace trainlab {

namespace {

Recipe& recipe_of(lua_State* L) { return *static_cast<Recipe*>(lua_touserdata(L, lua_upvalueindex(1))); }

void refuse_in_callback(lua_State* L, const std::string& what) {
  if (LuaState::of(L).part() == LuaState::Part::recipe) return;
  throw recipe_error(what + " inside a function that the engine calls").hint("it belongs into the recipe itself");
}

void set_function(lua_State* L, Recipe* recipe, const char* name, lua_CFunction function) {
  lua_pushlightuserdata(L, recipe);
  lua_pushcclosure(L, function, 1);
  set_lab_member(L, name);
}

}  // namespace

int l_lab_param(lua_State* L) {
  return guarded(L, [&] {
    Recipe& recipe = recipe_of(L);
    refuse_in_callback(L, "lab.param");
    const Registry& registry = *LuaState::of(L).host().registry;
    const Entry& entry = *registry.find("param");
    const Value options =
        registry.check(CallArguments(L, entry, CallArguments::Receiver::none).map(registry), "lab.param");
    push_value(L, recipe.parameters_.declare(options, LuaState::position(L)));
    return 1;
  });
}

int l_lab_budget(lua_State* L) {
  return guarded(L, [&] {
    Recipe& recipe = recipe_of(L);
    refuse_in_callback(L, "lab.budget");
    const Registry& registry = *LuaState::of(L).host().registry;
    const Entry& entry = *registry.find("budget");
    Value::Map given = CallArguments(L, entry, CallArguments::Receiver::none).map(registry);
    resolve_paths(entry.options, given, LuaState::of(L).host(), "lab.budget");
    const Value options = registry.check(std::move(given), "lab.budget");
    if (recipe.parameters_.closed()) {
      throw recipe_error("lab.budget after a stage has run").hint("the budget is of the whole run: put it first");
    }
    try {
      if (recipe.calls_.budget) recipe.calls_.budget(options);
    } catch (const Error& error) {
      throw Error(error).in("lab.budget");
    }
    return 0;
  });
}

int l_lab_run(lua_State* L) {
  return guarded(L, [&] {
    Recipe& recipe = recipe_of(L);
    refuse_in_callback(L, "lab.run");
    const std::shared_ptr<const Spec> stage = to_stage(L, 1, "lab.run takes");
    recipe.parameters_.close();
    StageResult result = [&] {
      const EngineWork work(L);
      return recipe.calls_.run(stage);
    }();
    push_result(L, std::move(result));
    return 1;
  });
}

Recipe::Recipe(LuaHost host, RecipeFiles files, Parameters& parameters, Calls calls)
    : files_(std::move(files)), parameters_(parameters), calls_(std::move(calls)), state_(std::move(host)) {
  state_.enter([&](lua_State* L) { open(L); });
}

Recipe::~Recipe() = default;

void Recipe::open(lua_State* L) {
  open_entries(L);
  set_function(L, this, "param", l_lab_param);
  set_function(L, this, "budget", l_lab_budget);
  set_function(L, this, "run", l_lab_run);
  open_require(L, files_, calls_.source);
  open_tensors(L);
  open_batch(L);
  open_rng(L);
  open_data_parts(L);
  open_loops(L);
  open_models(L);
  open_recompute(L);
  open_tasks(L);
  open_results(L);
  open_studies(L);
  open_train(L);
}

std::int64_t Recipe::collect_garbage() {
  std::int64_t bytes = 0;
  state_.enter([&](lua_State* L) {
    lua_gc(L, LUA_GCCOLLECT, 0);
    bytes = std::int64_t{1024} * lua_gc(L, LUA_GCCOUNT, 0) + lua_gc(L, LUA_GCCOUNTB, 0);
  });
  return bytes;
}

Recipe::Outcome Recipe::execute() {
  Outcome outcome;
  text_ = read_file(files_.file, std::int64_t{16} << 20);
  if (calls_.source) calls_.source(files_.file.filename().string(), text_);
  try {
    state_.enter([&](lua_State* L) {
      state_.load(L, text_, files_.shown);
      state_.call(L, 0, -1, LuaState::Part::recipe);
      if (lua_gettop(L) > 1) {
        throw recipe_error("expected one stage that the recipe returns, found " + std::to_string(lua_gettop(L)) +
                           " values")
            .hint("lab.run(stage) runs the stages before the last");
      }
      if (!lua_isnoneornil(L, 1)) outcome.stage = to_stage(L, 1, "a recipe returns");
    });
    parameters_.close();
  } catch (Error& error) {
    if (state_.ended()) return {nullptr, true};
    if (error.file().empty() && error.kind() == ErrorKind::recipe)
      error.at(files_.shown, state_.last_return_line(files_.shown));
    throw;
  }
  return outcome;
}

}  // namespace trainlab

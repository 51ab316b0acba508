#include "lua_result.h"

#include <lua.hpp>
#include <map>
#include <optional>

#include "bindings/lua_entries.h"
#include "bindings/lua_error.h"
#include "bindings/lua_object.h"
#include "bindings/lua_params.h"
#include "bindings/marshal.h"
#include "core/printable.h"
#include "predict/generate.h"
#include "predict/stage_predictor.h"
#include "run/folder.h"
#include "sandbox/weak_table.h"
#include "tensor/lua_tensor.h"
#include "values/call_arguments.h"
#include "values/entry_table.h"
#include "values/namespaces.h"
#include "values/result_fields.h"

namespace trainlab {

namespace {

const char kResults = 0;  // weak table: the table of a result → what stands behind it
const char kMethods = 0;  // the metatable of results

constexpr std::int64_t batch = 256;  // samples at a time

// The error is the recipe's: the recipe, not the command line, asks for a missing thing.
Error asked_by_recipe(const Error& error) {
  if (error.kind() != ErrorKind::usage) return error;
  Error wrong = recipe_error(error.message());
  return wrong.hint(error.hint());
}

// Behind the table. Its models are read when they are first asked for.
class ResultObject final : public Object {
 public:
  explicit ResultObject(StageResult result) : result_(std::move(result)) {}
  std::string_view type_name() const override { return "result"; }

  // `model`: of a fit with several, by name.
  const StagePredictor& predictor(const Registry& registry, at::Device device,
                                  const std::optional<std::string>& model) {
    if (const auto known = predictors_.find(model); known != predictors_.end()) return known->second;
    try {
      return predictors_
          .emplace(std::piecewise_construct, std::forward_as_tuple(model),
                   std::forward_as_tuple(registry, result_.folder, device, result_.stage, model))
          .first->second;
    } catch (const Error& error) {
      throw asked_by_recipe(error);
    }
  }

 private:
  StageResult result_;
  std::map<std::optional<std::string>, StagePredictor> predictors_;
};

// The models behind the table before the colon; of a fit with several, the model of this name.
const StagePredictor& predictor_at(lua_State* L, const char* method, const std::optional<std::string>& model = {}) {
  std::shared_ptr<Object> object;
  if (lua_istable(L, 1)) {
    push_from_weak_table(L, kResults, 1);
    object = to_object(L, -1);
    lua_pop(L, 1);
  }
  if (!object) {
    throw recipe_error("expected a result of lab.run before the colon, found " + type_text(L, 1)).in(method);
  }
  const EngineWork work(L);
  try {
    return with_torch_errors([&]() -> const StagePredictor& {
      return dynamic_cast<ResultObject&>(*object).predictor(*LuaState::of(L).host().registry,
                                                            run_device(LuaState::of(L)), model);
    });
  } catch (Error& error) {
    throw error.in(method);
  }
}

// The model, where there is a single one.
const Predictor& only_at(lua_State* L, const char* method, const std::optional<std::string>& model) {
  const StagePredictor& predictor = predictor_at(L, method, model);
  try {
    return predictor.only();
  } catch (const Error& error) {
    throw asked_by_recipe(error).in(method);
  }
}

// The checked options of a call that takes plain data.
Options called_options(lua_State* L, const char* name, CallArguments::Receiver receiver) {
  const LuaState& state = LuaState::of(L);
  const Registry& registry = *state.host().registry;
  const Entry& entry = *registry.find(name);
  Value::Map map = CallArguments(L, entry, receiver).map(registry);
  resolve_paths(entry.options, map, state.host(), entry.name);
  auto spec = std::make_shared<Spec>();
  spec->value = registry.check(map, name);
  return {registry, spec, name};
}

int l_model(lua_State* L) {
  return guarded(L, [&] {
    const Options options = called_options(L, "result:model", CallArguments::Receiver::object);
    const auto name = options.given("name") ? std::optional(options.string("name")) : std::nullopt;
    push_object(L, only_at(L, "result:model", name).model_object());
    return 1;
  });
}

// A tensor for a model that reads one column; else a table of them by name.
NamedTensors tensors_at(lua_State* L, int index, const Predictor& predictor) {
  const std::vector<InputColumn>& columns = predictor.file().inputs;
  if (to_tensor(L, index)) return {{columns.front().name, check_tensor(L, index).detach().cpu()}};
  if (!lua_istable(L, index) || entry_of(L, index)) {
    throw recipe_error("expected a tensor, or a table of tensors by column, found " + type_text(L, index));
  }
  NamedTensors tensors;
  for (const InputColumn& column : columns) {
    lua_getfield(L, index, column.name.c_str());
    if (to_tensor(L, -1)) tensors.emplace(column.name, check_tensor(L, -1).detach().cpu());
    lua_pop(L, 1);
  }
  return tensors;
}

// The options of result:predict, after the inputs, which are no plain data.
std::optional<std::string> name_of_model_at(lua_State* L, int index) {
  if (lua_isnoneornil(L, index)) return std::nullopt;
  const Error wrong = recipe_error("expected { model = \"NAME\" } after the inputs").in("result:predict");
  if (!lua_istable(L, index) || entry_of(L, index)) throw wrong;
  std::optional<std::string> name;
  lua_pushnil(L);
  while (lua_next(L, index) != 0) {
    const bool model = lua_type(L, -2) == LUA_TSTRING && std::string_view(lua_tostring(L, -2)) == "model";
    if (!model || lua_type(L, -1) != LUA_TSTRING) throw wrong;
    name = lua_tostring(L, -1);
    lua_pop(L, 1);
  }
  return name;
}

int l_predict(lua_State* L) {
  return guarded(L, [&] {
    const StagePredictor& predictor = predictor_at(L, "result:predict", name_of_model_at(L, 3));
    Prediction prediction;
    try {
      const NamedTensors tensors = tensors_at(L, 2, predictor.first());
      const EngineWork work(L);
      const auto inputs = [&](const Predictor& one) { return inputs_of(tensors, "x", one.file().inputs, one.data()); };
      prediction = with_torch_errors([&] { return predictor.predict(inputs, batch); });
    } catch (Error& error) {
      throw error.in("result:predict");
    }
    push_tensor(L, std::move(prediction.mean));
    if (!prediction.spread.defined()) return 1;
    push_tensor(L, std::move(prediction.spread));
    return 2;
  });
}

int l_generate(lua_State* L) {
  return guarded(L, [&] {
    const Options options = called_options(L, "result:generate", CallArguments::Receiver::object);
    const auto name = options.given("model") ? std::optional(options.string("model")) : std::nullopt;
    const Predictor& predictor = only_at(L, "result:generate", name);
    const Generation generation{.length = options.integer("length"),
                                .sampling = {.temperature = options.number("temperature"),
                                             .top_k = options.given("top_k") ? options.integer("top_k") : 0,
                                             .top_p = options.number("top_p")},
                                .seed = options.given("seed") ? options.integer("seed") : LuaState::of(L).host().seed};
    std::string text;
    try {
      const EngineWork work(L);
      text = with_torch_errors([&] { return generate(predictor, options.string("prompt"), generation); });
    } catch (const Error& error) {
      throw asked_by_recipe(error).in("result:generate");
    }
    lua_pushlstring(L, text.data(), text.size());
    return 1;
  });
}

// The error for a name that no result has. A name that stands one table deeper is said with the path to it.
Error unknown_field(lua_State* L, const std::string& name) {
  Error error = recipe_error("the result has no field '" + name + "'");
  const std::string end = name.find('.') == std::string::npos ? "." + name : "[\"" + name + "\"]";
  std::vector<std::string> names;
  for (const Entry* entry : LuaState::of(L).host().registry->of_kind("field")) {
    names.push_back(entry->name.substr(entry->name.find('.') + 1));
    lua_pushlstring(L, names.back().data(), names.back().size());
    lua_rawget(L, 1);
    bool inside = false;
    if (lua_istable(L, -1)) {
      lua_pushvalue(L, 2);
      lua_rawget(L, -2);
      inside = !lua_isnil(L, -1);
      lua_pop(L, 1);
    }
    lua_pop(L, 1);
    if (inside) return error.hint("did you mean result." + names.back() + end + "?");
  }
  const std::string close = Registry::closest(name, names);
  return error.hint(close.empty() ? "`trainlab help result` lists the fields" : "did you mean result." + close + "?");
}

// A name that the table does not have: a method, a field that is nil in this result, or a mistake. Upvalue: the table
// of methods.
int l_result_index(lua_State* L) {
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(1));
  if (!lua_isnil(L, -1) || lua_type(L, 2) != LUA_TSTRING) return 1;
  return guarded(L, [&] {
    const std::string name = lua_tostring(L, 2);
    if (!LuaState::of(L).host().registry->find("result." + name)) throw unknown_field(L, name);
    return 1;
  });
}

// A name that a table within a result does not have. Upvalues: the form of a path to a field, with '%' for its name;
// the names of the fields that such a table may have: name → true.
int l_inner_index(lua_State* L) {
  if (lua_type(L, 2) != LUA_TSTRING) return 0;
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(2));
  if (!lua_isnil(L, -1)) return 0;
  return guarded(L, [&]() -> int {
    const std::string form = lua_tostring(L, lua_upvalueindex(1)), name = lua_tostring(L, 2);
    const std::string message =
        form.substr(0, form.find_first_of(".[", form.find('.') + 1)) + " has no '" + printable_line(name) + "'";
    throw no_member(message, name, names_in(L, lua_upvalueindex(2)), form);
  });
}

// Makes a mistaken name an error in the table at the top of the stack, and in each table of a list.
void watch_names(lua_State* L, const std::string& form, const std::vector<std::string>& names) {
  const int table = lua_gettop(L);
  lua_newtable(L);  // the metatable
  lua_pushlstring(L, form.data(), form.size());
  lua_newtable(L);
  for (const std::string& name : names) {
    lua_pushlstring(L, name.data(), name.size());
    lua_pushboolean(L, 1);
    lua_rawset(L, -3);
  }
  lua_pushcclosure(L, l_inner_index, 2);
  lua_setfield(L, -2, "__index");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  const auto count = static_cast<int>(lua_objlen(L, table));
  for (int i = 1; i <= count; ++i) {
    lua_rawgeti(L, table, i);
    lua_pushvalue(L, -2);
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
  }
  if (count > 0) {
    lua_pop(L, 1);
  } else {
    lua_setmetatable(L, table);
  }
}

// The tables within the result at the top of the stack: those with declared fields, and those by names of metrics.
void watch_inner_names(lua_State* L, const Value& summary) {
  for (const auto& [field, value] : summary.map()) {
    const Entry* const entry = LuaState::of(L).host().registry->find("result." + field);
    const bool is_list = value.is_list() && !value.list().empty() && value.list().front().is_map();
    if (!entry || !(value.is_map() || is_list)) continue;
    const bool by_metric = is_by_metric(*entry);
    if (entry->options.empty() && !by_metric) continue;
    std::vector<std::string> names;
    for (const Option& option : entry->options) names.push_back(option.name);
    if (by_metric) {
      for (const auto& [name, one] : value.map()) names.push_back(name);
    }
    lua_getfield(L, -1, field.c_str());
    watch_names(L, entry->name + (is_list ? "[…]" : "") + (by_metric ? "[\"%\"]" : ".%"), names);
    lua_pop(L, 1);
  }
}

int l_load_run(lua_State* L) {
  return guarded(L, [&] {
    const Options options = called_options(L, "load_run", CallArguments::Receiver::none);
    StageResult result;
    try {
      const auto name = options.given("stage") ? std::optional(options.string("stage")) : std::nullopt;
      result.folder = find_stage(options.string("path"), name).folder;
      result.summary = read_summary(result.folder);
    } catch (const Error& error) {
      Error wrong = options.error("path", error.message());
      throw wrong.hint(error.hint());
    }
    if (result.summary.is_nil()) {
      throw options.error(
          "path", "the stage in " + result.folder.string() + " has no summary.json yet: it is running, or was killed");
    }
    push_result(L, std::move(result));
    return 1;
  });
}

int l_latest(lua_State* L) {
  return guarded(L, [&] {
    const Options options = called_options(L, "latest", CallArguments::Receiver::none);
    const std::string& name = options.string("name");
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos) {
      throw options.error("name", "expected the name of runs, found \"" + name + "\"")
          .hint("runs/digits/003 is the third run named digits; a path may end in runs/digits/latest");
    }
    const LuaHost& host = LuaState::of(L).host();
    const std::string run =
        host.latest_run ? host.latest_run((std::filesystem::path(host.working_folder) / "runs" / name).string()) : "";
    run.empty() ? lua_pushnil(L) : static_cast<void>(lua_pushlstring(L, run.data(), run.size()));
    return 1;
  });
}

}  // namespace

void open_results(lua_State* L) {
  open_weak_table(L, kResults);
  lua_newtable(L);
  define_object_type(L, "result");

  push_key(L, kMethods);
  lua_newtable(L);
  lua_newtable(L);
  for (const auto& [name, method] : std::initializer_list<std::pair<const char*, lua_CFunction>>{
           {"model", l_model}, {"predict", l_predict}, {"generate", l_generate}}) {
    lua_pushcfunction(L, method);
    lua_setfield(L, -2, name);
  }
  lua_pushcclosure(L, l_result_index, 1);
  lua_setfield(L, -2, "__index");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_rawset(L, LUA_REGISTRYINDEX);

  lua_pushcfunction(L, l_load_run);
  set_lab_member(L, "load_run");
  lua_pushcfunction(L, l_latest);
  set_lab_member(L, "latest");
}

namespace {

// The parameters of a trial in a summary, its table on top of the stack, as one table that knows all their names.
void complete_params(lua_State* L, const Value& trial) {
  if (!trial["params"].is_map()) return;
  push_params(L, trial["params"].map());
  lua_setfield(L, -2, "params");
}

}  // namespace

void push_result(lua_State* L, StageResult result) {
  push_value(L, result.summary);
  if (!lua_istable(L, -1)) return;
  if (result.summary["kind"] == Value("sweep")) {
    if (const Value& best = result.summary["best"]; best.is_map()) {
      lua_getfield(L, -1, "best");
      complete_params(L, best);
      lua_pop(L, 1);
    }
    if (const Value& pareto = result.summary["pareto"]; pareto.is_list()) {
      lua_getfield(L, -1, "pareto");
      for (std::size_t i = 0; i < pareto.list().size(); ++i) {
        lua_rawgeti(L, -1, static_cast<int>(i) + 1);
        complete_params(L, pareto.list()[i]);
        lua_pop(L, 1);
      }
      lua_pop(L, 1);
    }
  }
  watch_inner_names(L, result.summary);
  push_key(L, kMethods);
  lua_rawget(L, LUA_REGISTRYINDEX);
  lua_setmetatable(L, -2);
  push_object(L, std::make_shared<ResultObject>(std::move(result)));
  set_in_weak_table(L, kResults, -2);
}

bool is_result(lua_State* L, int index) {
  if (!lua_istable(L, index)) return false;
  push_from_weak_table(L, kResults, index);
  const bool is_known = to_object(L, -1) != nullptr;
  lua_pop(L, 1);
  return is_known;
}

}  // namespace trainlab

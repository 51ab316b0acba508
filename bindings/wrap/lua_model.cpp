#include "lua_model.h"

#include <lua.hpp>

#include "bindings/lua_entries.h"
#include "bindings/lua_error.h"
#include "bindings/lua_object.h"
#include "bindings/marshal.h"
#include "core/function_error.h"
#include "core/printable.h"
#include "core/words.h"
#include "data/batch_object.h"
#include "model/module_object.h"
#include "objects/model_object.h"
#include "optim/scaled_rate.h"
#include "sandbox/underway.h"
#include "sandbox/weak_table.h"
#include "tensor/lua_tensor.h"
#include "tensor/names.h"
#include "tensor/tensor_object.h"
#include "values/call_arguments.h"
#include "values/entry_table.h"
#include "values/object_type.h"

namespace trainlab {

namespace {

const char kModel = 0;  // in the list that model:parameters() gives: the model

ModelObject& model_at(lua_State* L, int index) { return check_object<ModelObject>(L, index, "model"); }
std::shared_ptr<FitOptimizer> fit_optimizer_at(lua_State* L, int index) {
  return std::dynamic_pointer_cast<FitOptimizer>(to_object(L, index));
}
OptimizerObject& optimizer_at(lua_State* L, int index) {
  if (fit_optimizer_at(L, index)) {
    throw recipe_error("this fit takes the steps of its optimizer itself; run.optim.lr can be read and set")
        .hint("with the option step = function(run, batch) … end the recipe takes the steps");
  }
  return check_object<OptimizerObject>(L, index, "optimizer");
}

// The checked options of the entry `name`, called as a function of lab. Functions in them (of nn.Module) are kept.
Options called_options(lua_State* L, const char* name) {
  const Registry& registry = *LuaState::of(L).host().registry;
  const Entry& entry = *registry.find(name);
  auto spec = std::make_shared<Spec>();
  spec->value = registry.check(CallArguments(L, entry, CallArguments::Receiver::none).map(registry, &spec->functions),
                               std::string("lab.") + name);
  return {registry, spec, std::string("lab.") + name};
}

// --------------------------------------------------------------------------------------------------------- lab.build

int l_build(lua_State* L) {
  return guarded(L, [&] {
    const Options options = called_options(L, "build");
    const LuaState& state = LuaState::of(L);
    std::shared_ptr<Object> model;
    {
      const EngineWork work(L);
      Signals columns;
      const bool integers = options.boolean("integers");
      if (options.is_keyed("input")) {
        const Options shapes = options.keyed("input");
        for (const std::string& name : shapes.names()) {
          columns.emplace(name, Signal{.shape = shapes.integers(name), .integers = integers});
        }
      } else {
        columns.emplace("x", Signal{.shape = options.integers("input"), .integers = integers});
      }
      const bool is_double = options.string("dtype") == "float64";
      LayerPrecision precision;
      if (options.given("compute")) {
        if (is_double) throw options.error("compute", "goes with dtype = \"float32\", found \"float64\"");
        precision.compute = *find_dtype(options.string("compute"));
      }
      model = build_model(
          options.child("model"), std::move(columns),
          options.given("seed") ? options.integer("seed") : state.host().seed, is_double ? at::kDouble : at::kFloat,
          options.given("device") ? parse_device(options.string("device")) : run_device(state), precision);
    }
    push_object(L, model);
    return 1;
  });
}

// The arguments of model:forward from stack index 2 on: a batch, or a tensor for each column that the model reads.
std::vector<at::Tensor> columns_at(lua_State* L, const Model& model) {
  std::vector<at::Tensor> all;
  if (const auto batch = std::dynamic_pointer_cast<BatchObject>(to_object(L, 2))) {
    for (const std::string& name : model.columns()) {
      const auto found = batch->columns.find(name);
      if (found == batch->columns.end()) {
        throw recipe_error("the batch has no column '" + name + "', which the model reads").in("model:forward");
      }
      all.push_back(found->second);
    }
    return all;
  }
  const std::size_t count = model.columns().size();
  if (static_cast<std::size_t>(lua_gettop(L)) != count + 1) {
    throw recipe_error("expected a tensor for each column that the model reads (" + joined(model.columns()) +
                       "), found " + std::to_string(lua_gettop(L) - 1))
        .in("model:forward");
  }
  for (std::size_t i = 0; i < count; ++i) all.push_back(check_tensor(L, static_cast<int>(i) + 2));
  return all;
}

// A hint for columns of numbers that are in another type than the model; empty where there is no such column.
std::string other_type(const ModelObject& model, std::span<const at::Tensor> columns) {
  const std::vector<at::Tensor>& weights = model.state().parameters;
  for (const at::Tensor& column : columns) {
    if (weights.empty() || !column.is_floating_point() || column.scalar_type() == weights.front().scalar_type())
      continue;
    const std::string found = dtype_name(column.scalar_type()), own = dtype_name(weights.front().scalar_type());
    return "the model is in " + own + ", and the batch in " + found + ": ctx:batches(part, { dtype = \"" + own +
           "\" }) or x:to(\"" + own + "\") gives the type of the model, lab.build(…, { dtype = \"" + found +
           "\" }) that of the batch";
  }
  return "";
}

int l_forward(lua_State* L) {
  return guarded(L, [&] {
    const ModelObject& model = model_at(L, 1);
    const std::vector<at::Tensor> columns = columns_at(L, model.model());
    LuaState& state = LuaState::of(L);
    const Key key = model.training ? Key(state.random().next_u64()) : Key(0);
    at::Tensor out;
    {
      const EngineWork work(L);
      const Underway underway(L, "model:forward");
      try {
        out = model.forward(columns, key);
      } catch (Error& error) {
        const std::string hint = other_type(model, columns);
        if (error.hint().empty() && !hint.empty()) error.hint(hint);
        throw;
      }
    }
    push_tensor(L, std::move(out));
    return 1;
  });
}

int l_parameters(lua_State* L) {
  return guarded(L, [&] {
    const ModelObject& model = model_at(L, 1);
    refuse_arguments(L, "model:parameters");
    const auto& parameters = model.state().parameters;
    lua_createtable(L, static_cast<int>(parameters.size()), 1);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      push_tensor(L, parameters[i]);
      lua_rawseti(L, -2, static_cast<int>(i) + 1);
    }
    push_key(L, kModel);
    lua_pushvalue(L, 1);
    lua_rawset(L, -3);
    return 1;
  });
}

// Upvalues: the model, how many parameters were given.
int l_next_parameter(lua_State* L) {
  return guarded(L, [&] {
    const auto& model = check_object<ModelObject>(L, lua_upvalueindex(1), "model");
    const auto i = static_cast<std::size_t>(lua_tointeger(L, lua_upvalueindex(2)));
    if (i >= model.state().parameters.size()) return 0;
    lua_pushinteger(L, static_cast<lua_Integer>(i) + 1);
    lua_replace(L, lua_upvalueindex(2));
    lua_pushstring(L, model.model().parameters()[i].name.c_str());
    push_tensor(L, model.state().parameters[i]);
    return 2;
  });
}

int l_named_parameters(lua_State* L) {
  return guarded(L, [&] {
    static_cast<void>(model_at(L, 1));
    refuse_arguments(L, "model:named_parameters");
    lua_pushvalue(L, 1);
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, l_next_parameter, 2);
    return 1;
  });
}

// model:tensors(): by name, buffers included.
int l_tensors(lua_State* L) {
  return guarded(L, [&] {
    lua_newtable(L);
    for (const auto& [name, tensor] : model_at(L, 1).tensors()) {
      push_tensor(L, tensor);
      lua_setfield(L, -2, name.c_str());
    }
    return 1;
  });
}

// model:load { name = tensor, … }, as model:tensors() gives them.
int l_load(lua_State* L) {
  return guarded(L, [&] {
    ModelObject& model = model_at(L, 1);
    if (!lua_istable(L, 2))
      throw recipe_error("expected a table of tensors by name, found " + type_text(L, 2)).in("model:load");
    try {
      model.restore(named_tensors_at(L, 2));
    } catch (Error& error) {
      throw error.in("model:load");
    }
    lua_settop(L, 1);
    return 1;
  });
}

int set_training(lua_State* L, bool training) {
  return guarded(L, [&] {
    ModelObject& model = model_at(L, 1);
    refuse_arguments(L, training ? "model:train" : "model:eval",
                     "model:train() is for training, model:eval() for evaluation");
    model.training = training;
    lua_settop(L, 1);
    return 1;
  });
}
int l_train(lua_State* L) { return set_training(L, true); }
int l_eval(lua_State* L) { return set_training(L, false); }

int l_model_text(lua_State* L) {
  return guarded(L, [&] {
    const std::string tree = model_at(L, 1).model().tree();
    lua_pushlstring(L, tree.data(), tree.size());
    return 1;
  });
}

// ----------------------------------------------------------------------------------------------------- lab.optimizer

std::vector<OptimizedParameter> parameters_at(lua_State* L, int index) {
  if (const auto model = std::dynamic_pointer_cast<ModelObject>(to_object(L, index))) return model->parameters();
  if (!lua_istable(L, index)) {
    throw recipe_error("expected model:parameters(), or a list of tensors, found " + type_text(L, index));
  }
  push_key(L, kModel);
  lua_rawget(L, index);
  std::vector<OptimizedParameter> known;
  if (const auto model = std::dynamic_pointer_cast<ModelObject>(to_object(L, -1))) known = model->parameters();
  lua_pop(L, 1);
  std::vector<OptimizedParameter> all;
  const auto length = static_cast<int>(lua_objlen(L, index));
  for (int i = 1; i <= length; ++i) {
    lua_rawgeti(L, index, i);
    if (!to_tensor(L, -1)) {
      throw recipe_error("expected a tensor at position " + std::to_string(i) + ", found " + type_text(L, -1));
    }
    const at::Tensor tensor = check_tensor(L, -1);
    lua_pop(L, 1);
    // One of the model keeps its name; the list may have been cut or joined with others.
    OptimizedParameter parameter{.name = std::to_string(i), .value = tensor, .decays = tensor.dim() > 1};
    for (const OptimizedParameter& one : known) {
      if (one.value.is_same(tensor)) parameter = one;
    }
    all.push_back(std::move(parameter));
  }
  return all;
}

// The checked options of lab.optimizer, of which those by name stand in a table at index 3.
Options optimizer_options(lua_State* L, const Registry& registry, const Value& optim) {
  Value given = Value::Map{};
  if (!lua_isnoneornil(L, 3)) given = to_value(L, 3, Functions::refuse);
  const bool is_empty = given.is_list() && given.list().empty();
  if (is_empty) given = Value::Map{};
  if (!given.is_map()) throw recipe_error("expected options by name, found " + type_text(L, 3)).in("lab.optimizer");
  given.set("@", "optimizer");
  given.set("optim", optim);
  given.set("parameters", true);  // tensors, which are no value
  auto spec = std::make_shared<Spec>();
  spec->value = registry.check(given, "lab.optimizer");
  return {registry, spec, "lab.optimizer"};
}

int l_optimizer(lua_State* L) {
  return guarded(L, [&] {
    const Registry& registry = *LuaState::of(L).host().registry;
    const Entry* entry = entry_of(L, 1);
    if (!entry || entry->kind != "optimizer") {
      throw recipe_error("expected an optimizer such as lab.optim.SGD { lr = 0.1 }, found " + type_text(L, 1))
          .in("lab.optimizer[1]");
    }
    auto spec = std::make_shared<Spec>(to_spec(L, 1));
    spec->value = registry.check(spec->value);
    const Options options = optimizer_options(L, registry, spec->value);
    const Clip clip = clip_of(options, "clip");
    try {
      const auto optimizer = std::make_shared<OptimizerObject>(Options(registry, spec, ""), parameters_at(L, 2));
      optimizer->clip = clip;
      optimizer->maximizes = options.boolean("maximize");
      push_object(L, optimizer);
    } catch (Error& error) {
      throw error.in("lab.optimizer");
    }
    return 1;
  });
}

int l_zero_grad(lua_State* L) {
  return guarded(L, [&] {
    OptimizerObject& optimizer = optimizer_at(L, 1);
    refuse_arguments(L, "optimizer:zero_grad", "gradients are removed, as set_to_none = True does in PyTorch");
    optimizer.zero_grad();
    return 0;
  });
}

int l_step(lua_State* L) {
  return guarded(L, [&] {
    OptimizerObject& optimizer = optimizer_at(L, 1);
    if (lua_isnoneornil(L, 2)) {
      const EngineWork work(L);
      const Underway underway(L, "optimizer:step");
      with_torch_errors([&] { optimizer.step(); });
      return 0;
    }
    if (!lua_isfunction(L, 2)) {
      throw recipe_error("expected nothing, or a function that evaluates the loss, found " + type_text(L, 2))
          .in("optimizer:step")
          .hint(how_to_evaluate);
    }
    const std::shared_ptr<Callable> function = to_callable(L, 2);
    // The same batch again with the same random numbers.
    function->rekey(Key(LuaState::of(L).random().next_u64()));
    const auto again = [&] {
      const std::vector<Argument> results = function->call({});
      const TensorObject* const loss = results.empty() ? nullptr : tensor_in(results.front());
      if (!loss || loss->tensor.numel() != 1) {
        throw function_error(*function, "expected the function to return the loss, a tensor of one element")
            .hint(how_to_evaluate);
      }
      return loss->tensor;
    };
    const EngineWork work(L);
    with_torch_errors([&] { optimizer.step(again); });
    return 0;
  });
}

int get_rate(lua_State* L) {
  const auto of_fit = fit_optimizer_at(L, 1);
  if (!of_fit) {
    lua_pushnumber(L, optimizer_at(L, 1).rate);
    return 1;
  }
  const EngineWork work(L);  // a schedule may be a function of the recipe
  lua_pushnumber(L, of_fit->rate());
  return 1;
}

int set_rate(lua_State* L) {
  if (lua_type(L, 3) != LUA_TNUMBER || !(lua_tonumber(L, 3) >= 0)) {
    throw recipe_error("expected a rate ≥ 0, found " + type_text(L, 3)).in("optimizer.lr");
  }
  if (const auto of_fit = fit_optimizer_at(L, 1)) {
    of_fit->set_rate({.rate = lua_tonumber(L, 3), .place = LuaState::position(L).text()});
  } else {
    optimizer_at(L, 1).rate = lua_tonumber(L, 3);
  }
  return 0;
}

// ------------------------------------------------------------------------------------------------------ lab.schedule

int l_schedule(lua_State* L) {
  return guarded(L, [&] {
    const Options options = called_options(L, "schedule");
    const RunLength length{.total_steps = options.integer("steps"),
                           .steps_per_epoch = options.given("steps_per_epoch") ? options.integer("steps_per_epoch") : 0,
                           .batch = 0};
    push_object(L, std::make_shared<ScheduleObject>(make_schedule(options.child("schedule"), length)));
    return 1;
  });
}

int l_factor(lua_State* L) {
  return guarded(L, [&] {
    auto& schedule = check_object<ScheduleObject>(L, 1, "schedule");
    if (lua_type(L, 2) != LUA_TNUMBER) {
      throw recipe_error("expected a step, found " + type_text(L, 2)).in("schedule:factor");
    }
    lua_pushnumber(L, schedule.factor(static_cast<std::int64_t>(lua_tonumber(L, 2))));
    return 1;
  });
}

int l_scale_lr(lua_State* L) {
  return guarded(L, [&] {
    const Options options = called_options(L, "scale_lr");
    const std::int64_t from = options.integer("from"), to = options.integer("to");
    double rate = 0;
    try {
      rate =
          scaled_rate(options.number("lr"), static_cast<double>(from), static_cast<double>(to), options.child("optim"));
    } catch (const Error& error) {
      throw options.error("optim", error.message()).hint(error.hint());
    }
    lua_pushnumber(L, rate);
    lua_pushstring(L, to > from ? "5%" : "0%");
    return 2;
  });
}

// self.NAME in the function of an nn.Module.
int l_module_index(lua_State* L) {
  return guarded(L, [&] {
    const auto& self = check_object<ModuleObject>(L, 1, "module");
    const std::string name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?";
    if (name == "training") {
      lua_pushboolean(L, self.training ? 1 : 0);
      return 1;
    }
    const auto found = self.parameters.find(name);
    if (found == self.parameters.end()) {
      std::string all;
      for (const auto& [known, tensor] : self.parameters) all += known + ", ";
      throw recipe_error("this module has no '" + printable_line(name) + "'").hint("it has " + all + "training");
    }
    push_tensor(L, found->second);
    return 1;
  });
}

}  // namespace

void open_models(lua_State* L) {
  const ObjectType model{.name = "model",
                         .methods = {{"forward", l_forward},
                                     {"parameters", l_parameters},
                                     {"named_parameters", l_named_parameters},
                                     {"tensors", l_tensors},
                                     {"load", l_load},
                                     {"train", l_train},
                                     {"eval", l_eval}},
                         .text = l_model_text};
  define(L, model);
  const ObjectType optimizer{.name = "optimizer",
                             .methods = {{"zero_grad", l_zero_grad}, {"step", l_step}},
                             .get = {{"lr", get_rate}},
                             .set = {{"lr", set_rate}}};
  define(L, optimizer);
  define(L, {.name = "schedule", .methods = {{"factor", l_factor}}});
  lua_newtable(L);
  lua_pushcfunction(L, l_module_index);
  lua_setfield(L, -2, "__index");
  define_object_type(L, "module");
  for (const auto& [name, function] : std::initializer_list<std::pair<const char*, lua_CFunction>>{
           {"build", l_build}, {"optimizer", l_optimizer}, {"schedule", l_schedule}, {"scale_lr", l_scale_lr}}) {
    lua_pushcfunction(L, function);
    set_lab_member(L, name);
  }
}

}  // namespace trainlab

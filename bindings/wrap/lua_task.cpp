#include "lua_task.h"

#include <lua.hpp>

#include "bindings/lua_error.h"
#include "bindings/lua_object.h"
#include "bindings/marshal.h"
#include "lua_loop.h"
#include "opened_data.h"
#include "task/task.h"
#include "tensor/lua_tensor.h"
#include "tensor/named_tensors.h"
#include "tensor/names.h"
#include "values/artifact_argument.h"
#include "values/call_arguments.h"
#include "values/entry_table.h"
#include "values/kept_table.h"
#include "values/object_type.h"

namespace trainlab {

namespace {

TaskContext& task_at(lua_State* L) { return check_object<TaskContext>(L, 1, "ctx"); }

// Called at each step of a loop: without the registry's check.
int l_task_log(lua_State* L) {
  return guarded(L, [&] {
    TaskContext& task = task_at(L);
    const std::string name = name_at(L, 2, "ctx:log");
    task.log(name, logged_at(L, 3, "ctx:log"));
    return 0;
  });
}

int l_task_artifact(lua_State* L) {
  return guarded(L, [&] {
    TaskContext& task = task_at(L);
    const std::string name = name_at(L, 2, "ctx:artifact");
    const Artifact content = artifact_at(L, 3, name, "ctx:artifact");
    const EngineWork work(L);
    task.artifact(name, content);
    return 0;
  });
}

// Models, optimizers and tensors, alone or in a list.
std::vector<Saved> saved_at(lua_State* L, int index, const std::string& where) {
  const auto one = [&](int at) -> std::optional<Saved> {
    if (to_tensor(L, at)) {
      const at::Tensor& tensor = check_tensor(L, at);
      const std::string kind = unsavable_kind(tensor);
      if (!kind.empty()) throw recipe_error("expected a tensor that a file can hold, found " + kind).in(where);
      return tensor;
    }
    if (auto object = std::dynamic_pointer_cast<Stateful>(to_object(L, at))) return object;
    return std::nullopt;
  };
  if (lua_isnoneornil(L, index)) return {};
  if (std::optional<Saved> single = one(index)) return {*single};
  if (!lua_istable(L, index) || lua_objlen(L, index) == 0) {
    throw recipe_error("expected models, optimizers and tensors, found " + type_text(L, index)).in(where);
  }
  std::vector<Saved> all;
  const auto length = static_cast<int>(lua_objlen(L, index));
  for (int i = 1; i <= length; ++i) {
    lua_rawgeti(L, index, i);
    std::optional<Saved> element = one(lua_gettop(L));
    if (!element) {
      throw recipe_error("expected a model, an optimizer or a tensor, found " + type_text(L, -1))
          .in(where + "[" + std::to_string(i) + "]");
    }
    lua_pop(L, 1);
    all.push_back(std::move(*element));
  }
  return all;
}

int l_save(lua_State* L) {
  return guarded(L, [&] {
    TaskContext& task = task_at(L);
    const std::string name = name_at(L, 2, "ctx:save");
    const std::vector<Saved> all = saved_at(L, 3, "ctx:save");
    NamedTensors tensors;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string prefix = all.size() > 1 ? std::to_string(i + 1) + "." : "";
      if (const auto* tensor = std::get_if<at::Tensor>(&all[i])) {
        tensors.emplace(prefix + "tensor", tensor->detach());
      } else {
        add_below(tensors, prefix, std::get<std::shared_ptr<Stateful>>(all[i])->tensors());
      }
    }
    const EngineWork work(L);
    task.save(name, tensors);
    return 0;
  });
}

// The options of ctx:batches and ctx:steps that are data; `save` holds objects and is taken out before.
TaskLoopOptions loop_options(lua_State* L, const Entry& entry, Value::Map& given) {
  TaskLoopOptions options;
  const int table = lua_gettop(L);
  if (table >= 3 && lua_istable(L, table) && !entry_of(L, table)) {
    lua_pushliteral(L, "save");
    lua_rawget(L, table);
    options.save = saved_at(L, lua_gettop(L), entry.name + ".save");
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushnil(L);
    while (lua_next(L, table) != 0) {
      const bool save = lua_type(L, -2) == LUA_TSTRING && std::string_view(lua_tostring(L, -2)) == "save";
      lua_pushvalue(L, -2);
      lua_insert(L, -2);
      if (save) {
        lua_pop(L, 2);
      } else {
        lua_rawset(L, table + 1);
      }
    }
    const Value data = to_value(L, table + 1, Functions::refuse);
    if (data.is_list() && !data.list().empty()) {
      const bool size = entry.find("size") && data.list()[0].is_number();
      throw recipe_error("expected options by name, found " + data.list()[0].brief() + " without one")
          .in(entry.name)
          .hint(size ? "size = " + data.list()[0].brief() : "save = { … }");
    }
    if (data.is_map()) given = data.map();
    lua_pop(L, 1);
  } else if (table >= 3) {
    throw recipe_error("expected a table of options, found " + type_text(L, 3)).in(entry.name);
  }
  return options;
}

// Upvalue: the entry.
Options checked(lua_State* L, const Entry& entry, Value::Map given, const char* first, Value value) {
  const Registry& registry = *LuaState::of(L).host().registry;
  given["@"] = entry.name;
  given[first] = std::move(value);
  auto spec = std::make_shared<Spec>();
  spec->value = registry.check(given);
  return {registry, spec, entry.name};
}

int l_batches(lua_State* L) {
  return guarded(L, [&] {
    TaskContext& task = task_at(L);
    const Entry& entry = *LuaState::of(L).host().registry->find("ctx:batches");
    const auto part = std::dynamic_pointer_cast<PartObject>(to_object(L, 2));
    if (!part) {
      throw recipe_error("expected a part of data such as data.train, found " + type_text(L, 2)).in("ctx:batches[1]");
    }
    Value::Map given;
    TaskLoopOptions loop = loop_options(L, entry, given);
    const Options options = checked(L, entry, std::move(given), "part", true);
    if (options.given("checkpoint")) loop.checkpoint = options.duration("checkpoint");
    loop.epochs = options.integer("epochs");
    loop.loader.batch = options.integer("size");
    loop.loader.shuffle = options.boolean("shuffle");
    loop.loader.drop_last = options.boolean("drop_last");
    loop.loader.float_type = *find_dtype(options.string("dtype"));
    push_loop(L, task_work(L, task, [&] {
                loop.part = part->part();
                return task.loop(std::move(loop));
              }));
    return 1;
  });
}

int l_steps(lua_State* L) {
  return guarded(L, [&] {
    TaskContext& task = task_at(L);
    const Entry& entry = *LuaState::of(L).host().registry->find("ctx:steps");
    const Value count = to_value(L, 2, Functions::refuse);
    Value::Map given;
    TaskLoopOptions loop = loop_options(L, entry, given);
    const Options options = checked(L, entry, std::move(given), "count", count);
    if (options.given("checkpoint")) loop.checkpoint = options.duration("checkpoint");
    loop.steps = options.integer("count");
    push_loop(L, task_work(L, task, [&] { return task.loop(std::move(loop)); }));
    return 1;
  });
}

int get_seed(lua_State* L) {
  lua_pushnumber(L, static_cast<double>(task_at(L).seed()));
  return 1;
}
int get_step(lua_State* L) {
  lua_pushnumber(L, static_cast<double>(task_at(L).step()));
  return 1;
}
int get_epoch(lua_State* L) {
  lua_pushnumber(L, static_cast<double>(task_at(L).epoch()));
  return 1;
}

int get_state(lua_State* L) {
  TaskContext& task = task_at(L);
  const auto table = kept_table(L, task.read_state, task.state, "ctx.state");
  if (!task.state_replaced) task.state_replaced = [table, &task] { table->replace(task.state); };
  table->push(L);
  return 1;
}

}  // namespace

void open_tasks(lua_State* L) {
  define(L, {.name = "ctx",
             .methods = {{"log", l_task_log},
                         {"artifact", l_task_artifact},
                         {"save", l_save},
                         {"batches", l_batches},
                         {"steps", l_steps}},
             .get = {{"seed", get_seed}, {"step", get_step}, {"epoch", get_epoch}, {"state", get_state}}});
}

}  // namespace trainlab

#include "bindings/lua_entries.h"

#include <algorithm>
#include <lua.hpp>
#include <map>

#include "bindings/lua_error.h"
#include "bindings/lua_object.h"
#include "bindings/marshal.h"
#include "call_arguments.h"
#include "core/printable.h"
#include "core/words.h"
#include "entry_table.h"
#include "namespaces.h"
#include "result_fields.h"
#include "sandbox/weak_table.h"
#include "tensor/lua_tensor.h"
#include "tensor/text.h"
#include "wrap/lua_result.h"
#include "wrap/opened_data.h"

namespace trainlab {

namespace {

// Addresses that stand for keys of the Lua registry and of metatables; recipes cannot make them.
const char kEntry = 0;      // in a metatable: the declaration
const char kPositions = 0;  // weak table: what a constructor made → "digits.lua:14"
const char kContent = 0;    // in the table of a data entry: its options

bool makes_entry(const Entry& entry) {
  return entry.kind != "function" && entry.kind != "method" && entry.kind != "field";
}

std::string kind_of_receiver(const Entry& entry) {
  const auto colon = entry.name.find(':');
  return colon == std::string::npos ? "" : entry.name.substr(0, colon);
}

const Entry& upvalue_entry(lua_State* L) { return *static_cast<const Entry*>(lua_touserdata(L, lua_upvalueindex(1))); }

// Where the call of a constructor is written. In `return lab.fit { … }`, a tail call, the frame that knows is gone; the
// line where `lab.fit` was looked up just before stands for it.
LuaPosition call_position(lua_State* L, const Entry& entry) {
  const LuaPosition here = LuaState::position(L);
  const LuaLookup* lookup = LuaState::of(L).lookup(&entry);
  if (!lookup) return here;
  lua_Debug ar;
  // Called as lab.fit, not as a local: a function of the recipe may well have the same name.
  const bool named = lua_getstack(L, 0, &ar) != 0 && lua_getinfo(L, "n", &ar) != 0 && ar.name &&
                     std::string_view(ar.namewhat) != "local" && std::string_view(ar.namewhat) != "upvalue" &&
                     entry.name.ends_with(ar.name);
  const bool tail_call = here.line == 0 || (!named && lookup->depth == LuaState::frames(L));
  return tail_call ? lookup->position : here;
}

int construct(lua_State* L, const Entry& entry, const LuaPosition& position) {
  LuaState& state = LuaState::of(L);
  const Registry& registry = *state.host().registry;
  const std::string receiver = kind_of_receiver(entry);
  const bool method = !receiver.empty();
  if (method) {
    const Entry* self = lua_gettop(L) > 0 ? entry_of(L, 1) : nullptr;
    if (!self || self->kind != receiver) {
      throw recipe_error("expected " + with_article(receiver) + " before the colon, found " +
                         (lua_gettop(L) > 0 ? type_text(L, 1) : "nothing"))
          .in(entry.name)
          .hint("write value:" + entry.name.substr(receiver.size() + 1) + " { … }");
    }
  }
  using Receiver = CallArguments::Receiver;
  const CallArguments arguments(L, entry, method ? Receiver::option : Receiver::none);
  Value::Map map = arguments.map(registry);
  resolve_paths(entry.options, map, state.host(), entry.name);
  const std::string at = position.text();
  if (!at.empty()) map["@at"] = at;
  registry.check(map);
  if (entry.kind == "stage") state.note_stage(entry.name, position);

  arguments.push_table();
  if (entry.kind == "data") {
    // Its options stand one table deeper: data.train is the part, not the fraction that data:split was given.
    lua_newtable(L);
    push_key(L, kContent);
    lua_pushvalue(L, -3);
    lua_rawset(L, -3);
    lua_remove(L, -2);
  }
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_setmetatable(L, -2);
  if (!at.empty()) {
    lua_pushlstring(L, at.data(), at.size());
    set_in_weak_table(L, kPositions, -2);
  }
  return 1;
}

int l_construct(lua_State* L) {
  return guarded(L, [&] {
    const Entry& entry = upvalue_entry(L);
    const LuaPosition position = call_position(L, entry);
    try {
      return construct(L, entry, position);
    } catch (Error& error) {
      if (position.line > 0) error.at(position.file, position.line);
      throw;
    }
  });
}

// Raises the error for an unknown member of a value with methods. Upvalues as in l_entry_index.
int refuse_member(lua_State* L) {
  return guarded(L, [&]() -> int {
    const auto& entry = *static_cast<const Entry*>(lua_touserdata(L, lua_upvalueindex(2)));
    const std::string wanted = lua_tostring(L, 2);
    std::vector<std::string> names = names_in(L, lua_upvalueindex(1));
    if (entry.kind == "data") names.insert(names.end(), {"train", "val", "test"});
    std::sort(names.begin(), names.end());
    throw no_member(entry.name + " has no '" + printable_line(wanted) + "'", wanted, names, "'%'");
  });
}

// Methods of an entry's value; else it is a plain table. Upvalues: the table of methods, the entry.
int l_entry_index(lua_State* L) {
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(1));
  if (lua_isnil(L, -1) && lua_type(L, 2) == LUA_TSTRING) {
    const auto& entry = *static_cast<const Entry*>(lua_touserdata(L, lua_upvalueindex(2)));
    lua_pushnil(L);
    const bool has_methods = lua_next(L, lua_upvalueindex(1)) != 0;
    lua_settop(L, 3);
    if (has_methods && !entry.find(lua_tostring(L, 2))) return refuse_member(L);
  }
  note_lookup(L);
  return 1;
}

// Indexing of data, which has parts too.
int l_data_index(lua_State* L) {
  if (lua_type(L, 2) == LUA_TSTRING) {
    const std::string_view name = lua_tostring(L, 2);
    if (name == "train" || name == "val" || name == "test") {
      return guarded(L, [&] {
        push_part(L, 1, std::string(name));
        return 1;
      });
    }
  }
  return l_entry_index(L);
}

int l_data_assign(lua_State* L) {
  return guarded(L, [&]() -> int {
    throw recipe_error("a data source cannot be changed")
        .hint("make another data source with the options that you want");
  });
}

int l_print_entry(lua_State* L) {
  return guarded(L, [&] {
    const std::string text = LuaState::of(L).host().registry->print(to_value(L, 1, Functions::mark));
    lua_pushlstring(L, text.data(), text.size());
    return 1;
  });
}

int l_call_entry(lua_State* L) {
  return guarded(L, [&]() -> int {
    const Entry& entry = *entry_of(L, 1);
    throw recipe_error("expected a function, found " + entry.name).hint(instead_of_call(entry));
  });
}

// Pushes the constructor of an entry. `methods`: stack index of the table kind → methods.
void push_constructor(lua_State* L, const Entry& entry, int methods) {
  lua_pushlightuserdata(L, const_cast<Entry*>(&entry));
  lua_newtable(L);
  push_key(L, kEntry);
  lua_pushlightuserdata(L, const_cast<Entry*>(&entry));
  lua_rawset(L, -3);
  lua_getfield(L, methods, entry.kind.c_str());
  lua_pushlightuserdata(L, const_cast<Entry*>(&entry));
  lua_pushcclosure(L, entry.kind == "data" ? l_data_index : l_entry_index, 2);
  lua_setfield(L, -2, "__index");
  if (entry.kind == "data") {
    lua_pushcfunction(L, l_data_assign);
    lua_setfield(L, -2, "__newindex");
  }
  lua_pushcfunction(L, l_print_entry);
  lua_setfield(L, -2, "__tostring");
  lua_pushcfunction(L, l_call_entry);
  lua_setfield(L, -2, "__call");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_pushcclosure(L, l_construct, 2);
}

}  // namespace

void note_lookup(lua_State* L) {
  const Entry* entry = constructor_of(L, -1);
  // Without the frame of the function that looks up.
  if (entry) LuaState::of(L).set_lookup(entry, {LuaState::position(L), LuaState::frames(L) - 1});
}

const Entry* constructor_of(lua_State* L, int index) {
  if (lua_tocfunction(L, index) != l_construct || !lua_getupvalue(L, index, 1)) return nullptr;
  const auto* entry = static_cast<const Entry*>(lua_touserdata(L, -1));
  lua_pop(L, 1);
  return entry;
}

const Entry* entry_of(lua_State* L, int index) {
  if (lua_type(L, index) != LUA_TTABLE || lua_getmetatable(L, index) == 0) return nullptr;
  push_key(L, kEntry);
  lua_rawget(L, -2);
  const auto* entry = static_cast<const Entry*>(lua_touserdata(L, -1));
  lua_pop(L, 2);
  return entry;
}

void push_content(lua_State* L, int index) {
  lua_pushvalue(L, index);
  push_key(L, kContent);
  lua_rawget(L, -2);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
  } else {
    lua_remove(L, -2);
  }
}

void finish_entry(lua_State* L, int index, const Entry& entry, Value::List list, Value::Map& map) {
  const Option* array = entry.array_option();
  if (!list.empty()) {
    if (!array) throw recipe_error("expected options by name, found " + std::to_string(list.size()) + " by position");
    if (map.contains(array->name)) throw recipe_error("'" + array->name + "' is given twice, by position and by name");
    map.emplace(array->name, std::move(list));
  }
  map.emplace("@", entry.name);
  const std::string at = made_at(L, index);
  if (!at.empty()) map.emplace("@at", at);
  resolve_paths(entry.options, map, LuaState::of(L).host(), entry.name);
}

std::string made_at(lua_State* L, int index) {
  push_from_weak_table(L, kPositions, index);
  const std::string at = lua_isstring(L, -1) ? lua_tostring(L, -1) : "";
  lua_pop(L, 1);
  return at;
}

std::string type_text(lua_State* L, int index) {
  if (const Entry* entry = entry_of(L, index)) return entry->name;
  if (const at::Tensor* tensor = to_tensor(L, index))
    return tensor->defined() ? "a tensor " + tensor_kind(*tensor) : "a tensor that was released";
  if (const std::shared_ptr<Object> object = to_object(L, index))
    return "an object of type " + std::string(object->type_name());
  switch (lua_type(L, index)) {
    case LUA_TNONE: return "nothing";
    case LUA_TNIL: return "nil";
    case LUA_TBOOLEAN: return lua_toboolean(L, index) != 0 ? "true" : "false";
    case LUA_TNUMBER: return "the number " + number_text(lua_tonumber(L, index));
    case LUA_TSTRING: return Value(valid_utf8(lua_tostring(L, index))).brief();
    default: return std::string("a ") + lua_typename(L, lua_type(L, index));
  }
}

void open_entries(lua_State* L) {
  open_weak_table(L, kPositions);

  const Registry& registry = *LuaState::of(L).host().registry;
  lua_newtable(L);
  const int methods = lua_gettop(L);
  for (const Entry* entry : registry.entries()) {
    if (!makes_entry(*entry)) continue;
    for (const std::string& kind : {entry->kind, kind_of_receiver(*entry)}) {
      if (kind.empty()) continue;
      lua_getfield(L, methods, kind.c_str());
      if (lua_isnil(L, -1)) {
        lua_newtable(L);
        lua_setfield(L, methods, kind.c_str());
      }
      lua_pop(L, 1);
    }
  }
  NamespaceTree tree;
  for (const Entry* entry : registry.entries()) {
    if (!makes_entry(*entry)) continue;
    const std::string receiver = kind_of_receiver(*entry);
    if (receiver.empty()) {
      tree.add(entry->name, [entry, methods](lua_State* state) { push_constructor(state, *entry, methods); });
    } else {
      lua_getfield(L, methods, receiver.c_str());
      push_constructor(L, *entry, methods);
      lua_setfield(L, -2, entry->name.c_str() + receiver.size() + 1);
      lua_pop(L, 1);
    }
  }
  const auto seed = static_cast<double>(LuaState::of(L).host().seed);
  tree.add("seed", [seed](lua_State* state) { lua_pushnumber(state, seed); });
  tree.push(L, "lab");
  lua_pushliteral(L, "lab");
  lua_insert(L, -2);
  lua_rawset(L, LUA_GLOBALSINDEX);
  lua_pop(L, 1);
}

std::shared_ptr<const Spec> to_stage(lua_State* L, int index, const std::string& who) {
  const Entry* entry = entry_of(L, index);
  if (!entry || entry->kind != "stage") {
    if (!is_result(L, index)) {
      throw recipe_error(who + " a stage, found " + type_text(L, index)).hint("a stage is made by lab.fit { … }");
    }
    throw recipe_error(who + " a stage, found the result of a stage that lab.run has run")
        .hint("lab.run(stage) runs the stages before the last: return the last stage itself, without lab.run");
  }
  auto spec = std::make_shared<Spec>(to_spec(L, index));
  spec->value = LuaState::of(L).host().registry->check(spec->value);
  return spec;
}

void register_language(Registry& registry) {
  registry.add(
      Entry("param", "function",
            "Declares a parameter of the recipe and gives its value: from the command line, from --params, or the "
            "default.")
          .with(Option("name", "name of the parameter, on the command line --name VALUE")
                    .string()
                    .required()
                    .positional())
          .with(
              Option("default", "value of the parameter if none is given; a parameter without a default must be given")
                  .any()
                  .positional())
          .with(Option("optional", "a parameter without a default that is not given is nil, instead of an error")
                    .boolean()
                    .or_default(false))
          .with(Option("doc", "meaning of the parameter, for --help").string())
          .with(Option("type",
                       "type of the parameter, taken from the default if there is one: 3 is an integer, 0.3 a number")
                    .choice({"integer", "number", "boolean", "string", "path", "choice"}))
          .with(Option("min", "smallest value").number())
          .with(Option("max", "largest value").number())
          .with(Option("choices", "the strings that are accepted; the type is then choice").string().many())
          .returns("the value; a relative path is taken from the working folder and made absolute")
          .example("local lr = lab.param { \"lr\", 3e-3, doc = \"peak learning rate\", min = 0 }"));
  registry.add(
      Entry("budget", "function",
            "Gives the stages of the recipe a budget that they share: of time, of money, of FLOPs. To be called before "
            "the first stage.")
          .with(Option("time", "of the whole run, in all of its processes; --within takes precedence")
                    .duration()
                    .in("time"))
          .with(Option("flops",
                       "floating-point operations of all trainings together, counted as the option flops of "
                       "lab.fit counts them")
                    .number()
                    .more_than(0))
          .with(Option("money",
                       "an amount with its currency, which pays for the time of the run's processes at the "
                       "price of the machine: \"500 EUR\"; with prices")
                    .string())
          .with(Option("prices", "a file of prices, as `trainlab plan --prices` reads it").path())
          .with(Option("machine", "the table in the file of prices that is this machine's, where several fit").string())
          .with(Option("reserve",
                       "part of the time at its end in which nothing trains any more, also as a percentage (default: "
                       "3 %, at least 0.4 s and 0.4 of the time that the program took to start)")
                    .duration()
                    .in("time"))
          .returns("nothing")
          .example("lab.budget { time = \"18 h\", reserve = \"30 min\" }")
          .note(
              "Of several limits the one that ends first counts. "
              "A sweep begun by lab.run has two thirds of the time that is left, any other such stage half of it, and "
              "the stage that the recipe returns all of it. A fit ends in time with its best weights so far, a task's "
              "durable loops end, and a "
              "sweep or an ensemble begins no trial for which less than half of its usual time is left. FLOPs are "
              "divided in the same way; only fits, sweeps and ensembles of known FLOPs can be counted."));
  registry.add(Entry("run", "function",
                     "Runs a stage to its end and returns its summary; a stage that this run has completed earlier is "
                     "not run again.")
                   .with(Option("stage", "the stage to run").entry("stage").required().positional())
                   .returns("result, a table with the contents of summary.json")
                   .example("local first = lab.run(fit)"));
  registry.add(Entry("load_run", "function", "Loads the result of a stage of another run from that run's folder.")
                   .with(Option("path", "the run's folder, a folder in its stages/, or that of a trial")
                             .path()
                             .required()
                             .positional())
                   .with(Option("stage", "name of the stage (default: the stage that the recipe returned)").string())
                   .returns("result, a table with the contents of summary.json")
                   .example("local teacher = lab.load_run(\"runs/teacher/001\"):model()")
                   .note("The folder is only read. A model that uses functions of the run's recipe cannot be built "
                         "without that recipe."));
  registry.add(
      Entry("latest", "function", "The newest run of a name that has ended, for work that goes on from day to day.")
          .with(
              Option("name", "file name of the recipe without .lua: its runs lie in runs/NAME below the working folder")
                  .string()
                  .required()
                  .positional())
          .returns("string, the run's folder; nil where no such run is done or stopped")
          .example("local yesterday = lab.latest \"daily\"")
          .note("The run keeps the answer: where it is resumed, the recipe gets the same one again. In a path, "
                "runs/NAME/latest says the same, and is an error where there is no such run."));
  registry.add(
      Entry("result:model", "method",
            "The trained model of a fit or of a sweep's best trial, in evaluation mode, with the weights that were "
            "kept.")
          .with(Option("name", "name of the model, if the fit has several").string().positional())
          .returns("model")
          .example("local teacher = lab.run(fit):model()")
          .note("Each call returns a new model, on the run's device. The model expects x after normalize(), as in "
                "training. Of several seeds of a sweep's best trial, the seed with the best value gives the model. An "
                "ensemble has no single model."));
  registry.add(
      Entry("result:predict", "method",
            "Predicts for new inputs with the model of a fit, of a sweep's best trial, or the members of an "
            "ensemble.")
          .with(Option("x",
                       "a tensor [N, …] as the data source gave it, before normalize(); a table of tensors "
                       "by name for a model that reads several columns")
                    .any()
                    .required()
                    .positional())
          .with(Option("model", "name of the model, if the fit has several").string())
          .returns("tensor [N, …]: the probabilities of a classification, the values of a regression; of an "
                   "ensemble the mean of its members and, second, their standard deviation")
          .example("local p = lab.run(fit):predict(lab.tensor.rand({ 5, 1, 8, 8 }, { seed = 1 }))")
          .note("Bytes (uint8) are read as 0…1. A single logit gives the probabilities of two classes. A member "
                "that an ensemble has chosen twice counts twice."));
  registry.add(Entry("result:generate", "method", "Continues a text with the trained language model of a fit.")
                   .with(Option("prompt", "beginning of the text").string().required().positional())
                   .with(Option("length", "number of tokens to add").integer().at_least(0).or_default(200))
                   .with(Option("temperature", "number by which scores are divided; 0: always the most probable token")
                             .number()
                             .at_least(0)
                             .or_default(0.8))
                   .with(Option("top_k", "draw only from this many of the most probable tokens").integer().at_least(1))
                   .with(Option("top_p", "draw only from the most probable tokens that together have this probability")
                             .number()
                             .more_than(0)
                             .at_most(1)
                             .or_default(1.0))
                   .with(Option("seed", "seed of the draws (default: lab.seed)").integer().at_least(0))
                   .with(Option("model", "name of the model, if the fit has several").string())
                   .returns("string, the prompt and its continuation")
                   .example("print(lab.run(fit):generate(\"ROMEO:\", { length = 300, top_p = 0.9 }))"));
  registry.add(Entry("seed", "field", "The seed of the run (--seed), which is the default of every option called seed.")
                   .returns("integer"));
  register_result_fields(registry);
}

}  // namespace trainlab

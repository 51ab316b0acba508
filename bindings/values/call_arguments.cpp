#include "call_arguments.h"

#include <algorithm>
#include <filesystem>
#include <lua.hpp>

#include "bindings/lua_object.h"
#include "bindings/marshal.h"
#include "entry_table.h"
#include "run/latest.h"
#include "tensor/lua_tensor.h"

namespace trainlab {

namespace {

bool is_plain_table(lua_State* L, int index) { return lua_istable(L, index) && !entry_of(L, index); }

// A last argument { … } holds options when it has names; else it is a list, an argument itself. An empty one is what
// there is room for.
bool holds_options(lua_State* L, int index, bool room) {
  bool any = false;
  lua_pushnil(L);
  while (lua_next(L, index) != 0) {
    lua_pop(L, 1);
    any = true;
    if (lua_type(L, -1) == LUA_TSTRING) {
      lua_pop(L, 1);
      return true;
    }
  }
  return !any && !room;
}

}  // namespace

std::string instead_of_call(const Entry& entry) {
  if (entry.kind == "loss")
    return "lab." + entry.name + " names a loss; a function computes one by operators, as lab.ops.cross_entropy_loss";
  if (entry.kind == "layer")
    return "lab." + entry.name + " describes a layer; lab.build makes a model of layers, whose forward takes tensors";
  if (entry.kind == "optimizer")
    return "lab." + entry.name + " describes an optimizer; one at work is lab.optimizer(lab." + entry.name +
           " { lr = 1e-3 }, model:parameters())";
  if (entry.kind == "data") return "the samples come in batches: for batch in data.train:batches(64) do … end";
  return "";
}

namespace {

// A table of several numbers alone, nn.MaxPool2d { 3, 2 } or nn.MaxPool2d({ 3, 2 }), for an entry whose first option
// takes a list of numbers: a list of sizes by axis, and not the first option and those after it.
bool is_first_list(lua_State* L, const Entry& entry, int table) {
  const auto first = std::find_if(entry.options.begin(), entry.options.end(),
                                  [](const Option& option) { return option.is_positional && !option.is_array; });
  const auto length = lua_objlen(L, table);
  if (first == entry.options.end() || !first->is_many || entry.array_option() || length < 2) return false;
  std::size_t numbers = 0, others = 0;
  lua_pushnil(L);
  while (lua_next(L, table) != 0) {
    ++(lua_type(L, -2) == LUA_TNUMBER && lua_type(L, -1) == LUA_TNUMBER ? numbers : others);
    lua_pop(L, 1);
  }
  return others == 0 && numbers == length;
}

}  // namespace

CallArguments::CallArguments(lua_State* L, const Entry& entry, Receiver receiver) : L_(L), entry_(entry) {
  const int first = receiver == Receiver::none ? 1 : 2;
  const int last = lua_gettop(L);
  if (receiver == Receiver::option) positional_.push_back({0, 1});
  if (first == last && is_plain_table(L, last)) {
    if (receiver == Receiver::none && is_first_list(L, entry, last)) {
      positional_.push_back({0, last});
    } else {
      take_table(last);
    }
    return;
  }
  const auto places = std::count_if(entry.options.begin(), entry.options.end(),
                                    [](const Option& option) { return option.is_positional && !option.is_array; });
  const bool room = places > last - first + (receiver == Receiver::option ? 1 : 0);
  const bool options = last > first && is_plain_table(L, last) && holds_options(L, last, room);
  for (int i = first; i <= last - (options ? 1 : 0); ++i) positional_.push_back({0, i});
  if (options) {
    if (lua_objlen(L, last) > 0) {
      throw recipe_error("the last argument has names and positions")
          .in(entry.name)
          .hint("write " + entry.name + "(a, b, { name = value }) or " + entry.name + " { a, b, name = value }");
    }
    named_ = last;
  }
}

void CallArguments::take_table(int table) {
  named_ = table;
  const auto length = static_cast<int>(lua_objlen(L_, table));
  for (int i = 1; i <= length; ++i) {
    lua_rawgeti(L_, table, i);
    const bool missing = lua_isnil(L_, -1);
    lua_pop(L_, 1);
    if (missing) throw recipe_error("a list with a hole: [" + std::to_string(i) + "] is missing").in(entry_.name);
    positional_.push_back({table, i});
  }
  lua_pushnil(L_);
  while (lua_next(L_, table) != 0) {
    lua_pop(L_, 1);
    const int type = lua_type(L_, -1);
    const double key = type == LUA_TNUMBER ? lua_tonumber(L_, -1) : 0;
    const bool known = type == LUA_TSTRING || (key >= 1 && key <= length && key == static_cast<int>(key));
    if (known) continue;
    const std::string found = type == LUA_TNUMBER ? "[" + number_text(key) + "]" : type_text(L_, -1);
    throw recipe_error("expected names, or positions from 1 without a hole, found " + found + " as key")
        .in(entry_.name);
  }
}

void CallArguments::push(Slot slot) const {
  if (slot.table == 0) {
    lua_pushvalue(L_, slot.index);
  } else {
    lua_rawgeti(L_, slot.table, slot.index);
  }
}

Value::Map CallArguments::map(const Registry& registry, std::vector<std::shared_ptr<Callable>>* functions) const {
  const auto read = [&](const std::string& where) {
    try {
      Value value = functions ? to_value(L_, -1, *functions) : to_value(L_, -1, Functions::mark);
      lua_pop(L_, 1);
      return value;
    } catch (Error& error) {
      if (error.hint().empty() && (to_tensor(L_, -1) || to_object(L_, -1))) error.hint(instead_of_call(entry_));
      throw error.in(entry_.name + where);
    }
  };
  Value::List positional;
  for (const Slot slot : positional_) {
    push(slot);
    positional.push_back(read("[" + std::to_string(positional.size() + 1) + "]"));
  }
  Value::Map named;
  if (named_ != 0) {
    lua_pushnil(L_);
    while (lua_next(L_, named_) != 0) {
      if (lua_type(L_, -2) != LUA_TSTRING) {
        lua_pop(L_, 1);
        continue;
      }
      std::string key = lua_tostring(L_, -2);
      if (key.starts_with('@')) throw recipe_error("'" + key + "': names that begin with @ are taken").in(entry_.name);
      Value value = read("." + key);
      named.emplace(std::move(key), std::move(value));
    }
  }
  return registry.assemble(entry_, std::move(positional), std::move(named));
}

void CallArguments::push_table() const {
  lua_newtable(L_);
  const int table = lua_gettop(L_);
  if (named_ != 0) {
    lua_pushnil(L_);
    while (lua_next(L_, named_) != 0) {
      if (lua_type(L_, -2) == LUA_TSTRING) {
        lua_pushvalue(L_, -2);
        lua_insert(L_, -2);
        lua_rawset(L_, table);
      } else {
        lua_pop(L_, 1);
      }
    }
  }
  // In the order in which Registry::assemble gives names to positions.
  std::size_t next = 0;
  for (const Option& option : entry_.options) {
    if (!option.is_positional || option.is_array || next == positional_.size()) continue;
    push(positional_[next++]);
    if (lua_isnil(L_, -1)) {
      lua_pop(L_, 1);
    } else {
      lua_setfield(L_, table, option.name.c_str());
    }
  }
  for (int i = 1; next < positional_.size(); ++next, ++i) {
    push(positional_[next]);
    lua_rawseti(L_, table, i);
  }
}

void resolve_paths(const std::vector<Option>& options, Value::Map& map, const LuaHost& host, const std::string& place) {
  const auto absolute = [&](Value& value, const std::string& option) {
    if (!value.is_string() || value.string().empty()) return;
    std::filesystem::path path = (std::filesystem::path(host.recipe_folder) / value.string()).lexically_normal();
    try {
      if (host.latest_run)
        path = with_latest(path, [&](const std::filesystem::path& runs) { return host.latest_run(runs.string()); });
    } catch (const Error& error) {
      Error wrong = recipe_error(error.message()).hint(error.hint());
      throw wrong.in(place + "." + option);
    }
    value = path.string();
  };
  for (const Option& option : options) {
    const auto found = map.find(option.name);
    if (found == map.end()) continue;
    if (!option.nested.empty() && found->second.is_map() && found->second["@"].is_nil()) {
      resolve_paths(option.nested, found->second.map(), host, place + "." + option.name);
    }
    // A word that means something else there (a choice, the name of an entry) is no path.
    const bool only_path = !option.forms.empty() && option.forms.front().type == Form::Type::path;
    if (!only_path) continue;
    absolute(found->second, option.name);
    if (found->second.is_list()) {
      for (Value& element : found->second.list()) absolute(element, option.name);
    }
  }
}

}  // namespace trainlab

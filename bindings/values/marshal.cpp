#include "bindings/marshal.h"

#include <algorithm>
#include <cmath>
#include <lua.hpp>

#include "bindings/lua_object.h"
#include "bindings/lua_params.h"
#include "bindings/lua_state.h"
#include "core/argument_table.h"
#include "core/params.h"
#include "core/printable.h"
#include "entry_table.h"
#include "tensor/lua_tensor.h"
#include "tensor/safetensors.h"

namespace trainlab {

namespace {

constexpr std::size_t kDepth = 100;
constexpr int kValues = 1'000'000;

void push_with_tensors(lua_State* L, const Value& value, const NamedTensors* tensors);

std::string step_name(const std::string& key) { return is_identifier(key) ? key : "[\"" + key + "\"]"; }

class TableReader {
 public:
  // Functions are collected where `collected` is given. A `state` is what a checkpoint is to hold: its tensors are
  // collected, and what cannot be saved is left out and told in `state->fault`.
  TableReader(lua_State* L, Functions functions, std::vector<std::shared_ptr<Callable>>* collected,
              ScriptState* state = nullptr)
      : L_(L), functions_(functions), collected_(collected), state_(state) {}

  Value read(int index) {
    if (++count_ > kValues) throw recipe_error("more than a million values; large data belongs into tensors");
    switch (lua_type(L_, index)) {
      case LUA_TNIL: return {};
      case LUA_TBOOLEAN: return lua_toboolean(L_, index) != 0;
      case LUA_TNUMBER: return number(lua_tonumber(L_, index));
      case LUA_TSTRING: return text(index);
      case LUA_TTABLE: return table(index);
      case LUA_TFUNCTION: return function(index);
      default:
        if (state_ && to_tensor(L_, index)) return tensor(index);
        throw unexpected(type_text(L_, index));
    }
  }

  std::int64_t count() const { return count_; }  // of values

 private:
  Error unexpected(const std::string& found) const {
    return recipe_error(std::string("expected data") + (state_ ? " or a tensor" : "") + ", found " + found);
  }

  static Value number(double x) {
    const bool whole = std::fabs(x) <= largest_exact && std::trunc(x) == x && !(x == 0 && std::signbit(x));
    return whole ? Value(static_cast<std::int64_t>(x)) : Value(x);
  }

  std::string text(int index) {
    std::size_t length = 0;
    const char* bytes = lua_tolstring(L_, index, &length);
    std::string text(bytes, length);
    if (valid_utf8(text) != text) throw recipe_error("a text that is not UTF-8");
    return text;
  }

  // By its path, which is a name of its own.
  Value tensor(int index) {
    const at::Tensor& found = check_tensor(L_, index);
    if (const std::string kind = unsavable_kind(found); !kind.empty())
      throw recipe_error("expected a tensor that a file can hold, found " + kind);
    state_->tensors.emplace(path_, found.detach());
    return Value::Map{{"@", "tensor"}, {"name", path_}};
  }

  Value function(int index) {
    if (const Entry* entry = constructor_of(L_, index)) {
      throw recipe_error("found the constructor " + entry->name + ", which was not called")
          .hint("write " + entry->name + "(…)");
    }
    if (functions_ == Functions::refuse && !collected_) throw unexpected("a function");
    std::shared_ptr<Callable> callable = collected_ ? to_callable(L_, index) : nullptr;
    const std::string where = callable ? callable->where() : function_position(L_, index);
    Value::Map map{{"@", "function"}, {"@at", where}, {"index", 0}};
    if (collected_) {
      map["index"] = static_cast<std::int64_t>(collected_->size());
      collected_->push_back(std::move(callable));
    }
    return map;
  }

  Value table(int index) {
    if (index < 0) index = lua_gettop(L_) + 1 + index;
    const void* identity = lua_topointer(L_, index);
    if (std::find(open_.begin(), open_.end(), identity) != open_.end())
      throw recipe_error("a table that contains itself");
    if (open_.size() >= kDepth) throw recipe_error("tables nested deeper than 100");
    if (lua_checkstack(L_, 10) == 0) throw recipe_error("tables nested too deep");
    open_.push_back(identity);
    Value value = content(index);
    open_.pop_back();
    return value;
  }

  Value content(int index) {
    if (const Entry* entry = entry_of(L_, index)) {
      if (state_) throw unexpected(entry->name + " { … }");  // a resumed run would find a plain table
      return entry_content(index, *entry);
    }
    Value::List list;
    Value::Map map;
    members(index, list, map);
    if (const auto names = params_names(L_, index)) {
      for (const std::string& name : *names) map.emplace(name, Value());
    }
    if (list.empty()) return map.empty() ? Value(std::move(list)) : Value(std::move(map));
    if (map.empty()) return list;
    part([&] {
      throw recipe_error("a table with both positions and names ('" + map.begin()->first +
                         "'); expected a list, or names only");
    });
    return map;
  }

  Value entry_content(int index, const Entry& entry) {
    try {
      Value::List list;
      Value::Map map;
      push_content(L_, index);
      members(lua_gettop(L_), list, map);
      lua_pop(L_, 1);
      finish_entry(L_, index, entry, std::move(list), map);
      return map;
    } catch (Error& error) {
      // The line of the constructor's call: the change that broke the table has left no trace.
      const LuaPosition at = position_of_text(made_at(L_, index));
      if (at.line > 0) error.at(at.file, at.line);
      throw;
    }
  }

  void members(int index, Value::List& list, Value::Map& map) {
    std::vector<std::pair<double, Value>> positions;
    lua_pushnil(L_);
    while (lua_next(L_, index) != 0) {
      part([&] { member(positions, map); });
      lua_pop(L_, 1);
      if (count_ > kValues) {
        lua_pop(L_, 1);
        break;
      }
    }
    std::sort(positions.begin(), positions.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    part([&] { in_order(positions, list); });
  }

  // Reads the member whose key and value stand at the top of the stack.
  void member(std::vector<std::pair<double, Value>>& positions, Value::Map& map) {
    const int type = lua_type(L_, -2);
    if (type == LUA_TSTRING) {
      std::string key = text(-2);
      if (key.starts_with('@')) throw recipe_error("'" + key + "': names that begin with @ are taken");
      Value member = below(step_name(key));
      map.emplace(std::move(key), std::move(member));
    } else if (type == LUA_TNUMBER) {
      const double key = lua_tonumber(L_, -2);
      positions.emplace_back(key, below("[" + number_text(key) + "]"));
    } else {
      throw recipe_error("expected a name or a position as key, found " + type_text(L_, -2));
    }
  }

  // A list in which a position is missing would move the elements behind the hole: all of its elements are left out.
  static void in_order(std::vector<std::pair<double, Value>>& positions, Value::List& all) {
    Value::List list;
    for (auto& [key, member] : positions) {
      const double expected = static_cast<double>(list.size()) + 1;
      if (key != expected) {
        const bool position = key >= 1 && std::isfinite(key) && std::trunc(key) == key;
        throw recipe_error(position ? "a list with a hole: [" + number_text(expected) + "] is missing, [" +
                                          number_text(key) + "] is there"
                                    : "expected positions from 1, found [" + number_text(key) + "]");
      }
      list.push_back(std::move(member));
    }
    all = std::move(list);
  }

  // Reads a part of a table. In a state a part that is no data is left out.
  template <class Read>
  void part(const Read& read) {
    const int top = lua_gettop(L_);
    const std::size_t open = open_.size(), above = path_.size();
    try {
      read();
    } catch (const Error& error) {
      if (!state_) throw;
      if (!state_->fault) state_->fault = error;
      lua_settop(L_, top);
      open_.resize(open);
      path_.resize(above);
    }
  }

  Value below(const std::string& step) {
    const std::size_t above = path_.size();
    path_ += (path_.empty() ? "" : ".") + step;
    const bool was_whole = state_ && !state_->fault;
    try {
      Value value = read(-1);
      path_.resize(above);
      if (was_whole && state_->fault) state_->fault->in(step);
      return value;
    } catch (Error& error) {
      throw error.in(step);
    }
  }

  lua_State* L_;
  Functions functions_;
  std::vector<std::shared_ptr<Callable>>* collected_;
  ScriptState* state_;
  std::string path_;
  std::vector<const void*> open_;
  int count_ = 0;
};

}  // namespace

Value to_value(lua_State* L, int index, Functions functions) { return TableReader(L, functions, nullptr).read(index); }

Value to_value(lua_State* L, int index, std::vector<std::shared_ptr<Callable>>& functions) {
  return TableReader(L, Functions::mark, &functions).read(index);
}

Spec to_spec(lua_State* L, int index) {
  Spec spec;
  spec.value = TableReader(L, Functions::mark, &spec.functions).read(index);
  return spec;
}

ScriptState to_script_state(lua_State* L, int index) {
  ScriptState state;
  TableReader reader(L, Functions::refuse, nullptr, &state);
  state.value = reader.read(index);
  state.values = reader.count();
  return state;
}

void push_value(lua_State* L, const Value& value) { push_with_tensors(L, value, nullptr); }

void push_integer(lua_State* L, std::int64_t x) {
  if (x > largest_exact || x < -largest_exact) {
    throw recipe_error("the integer " + std::to_string(x) + " has no exact Lua number")
        .hint("Lua numbers are doubles: up to 2^53");
  }
  lua_pushnumber(L, static_cast<double>(x));
}

void push_script_state(lua_State* L, const ScriptState& state) { push_with_tensors(L, state.value, &state.tensors); }

namespace {

void push_with_tensors(lua_State* L, const Value& value, const NamedTensors* tensors) {
  if (lua_checkstack(L, 10) == 0) throw recipe_error("data nested too deep for Lua");
  if (value.is_boolean()) {
    lua_pushboolean(L, value.boolean() ? 1 : 0);
  } else if (value.is_integer()) {
    push_integer(L, value.integer());
  } else if (value.is_number()) {
    lua_pushnumber(L, value.number());
  } else if (value.is_string()) {
    lua_pushlstring(L, value.string().data(), value.string().size());
  } else if (value.is_list()) {
    const Value::List& list = value.list();
    lua_createtable(L, static_cast<int>(list.size()), 0);
    for (std::size_t i = 0; i < list.size(); ++i) {
      push_with_tensors(L, list[i], tensors);
      lua_rawseti(L, -2, static_cast<int>(i) + 1);
    }
  } else if (tensors && value["@"] == Value("tensor")) {
    push_tensor(L, tensors->at(value["name"].string()));
  } else if (value.is_map()) {
    lua_createtable(L, 0, static_cast<int>(value.map().size()));
    for (const auto& [key, member] : value.map()) {
      lua_pushlstring(L, key.data(), key.size());
      push_with_tensors(L, member, tensors);
      lua_rawset(L, -3);
    }
  } else {
    lua_pushnil(L);
  }
}

bool holds_objects(lua_State* L, int index) {
  if (lua_type(L, index) != LUA_TTABLE || entry_of(L, index)) return false;
  lua_pushnil(L);
  while (lua_next(L, index < 0 ? index - 1 : index) != 0) {
    const bool object = lua_type(L, -1) == LUA_TUSERDATA;
    lua_pop(L, 1);
    if (object) {
      lua_pop(L, 1);
      return true;
    }
  }
  return false;
}

std::shared_ptr<ArgumentTable> to_argument_table(lua_State* L, int index) {
  if (index < 0) index = lua_gettop(L) + 1 + index;
  auto table = std::make_shared<ArgumentTable>();
  const auto length = static_cast<int>(lua_objlen(L, index));
  for (int i = 1; i <= length; ++i) {
    lua_rawgeti(L, index, i);
    table->list.push_back(to_argument(L, -1));
    lua_pop(L, 1);
  }
  lua_pushnil(L);
  while (lua_next(L, index) != 0) {
    if (lua_type(L, -2) == LUA_TSTRING) table->named.emplace(lua_tostring(L, -2), to_argument(L, -1));
    lua_pop(L, 1);
  }
  return table;
}

}  // namespace

void push_argument(lua_State* L, const Argument& argument) {
  if (const auto* value = std::get_if<Value>(&argument)) {
    push_value(L, *value);
    return;
  }
  const auto& object = std::get<std::shared_ptr<Object>>(argument);
  if (const auto* params = dynamic_cast<const Params*>(object.get())) {
    push_params(L, params->values);
    return;
  }
  const auto* table = dynamic_cast<const ArgumentTable*>(object.get());
  if (!table) {
    push_object(L, object);
    return;
  }
  lua_createtable(L, static_cast<int>(table->list.size()), static_cast<int>(table->named.size()));
  for (std::size_t i = 0; i < table->list.size(); ++i) {
    push_argument(L, table->list[i]);
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
  for (const auto& [name, member] : table->named) {
    push_argument(L, member);
    lua_setfield(L, -2, name.c_str());
  }
}

Argument to_argument(lua_State* L, int index) {
  if (std::shared_ptr<Object> object = to_object(L, index)) return object;
  if (holds_objects(L, index)) return to_argument_table(L, index);
  return to_value(L, index, Functions::refuse);
}

}  // namespace trainlab

// lab.ops and arithmetic: calls of ATen's operators from Lua.
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <cmath>
#include <lua.hpp>

#include "bindings/lua_entries.h"
#include "bindings/lua_error.h"
#include "bindings/marshal.h"
#include "core/known_elsewhere.h"
#include "core/printable.h"
#include "sandbox/meter.h"
#include "sandbox/underway.h"
#include "tensor/types.h"
#include "tensor_binding.h"
#include "values/entry_table.h"

namespace trainlab {

namespace {

using Kind = OperatorArgument::Kind;

// Each operator is a sign of life, but instructions are not counted anew: a loop of operators for ever is still a loop
// for ever.
class Running {
 public:
  Running(lua_State* L, Meter& meter, const Operator& op) : underway_(L, op.name().c_str()), meter_(meter) {
    meter_.operate(L);
  }
  ~Running() { meter_.operate(nullptr); }
  Running(const Running&) = delete;

 private:
  const Underway underway_;
  Meter& meter_;
};

// A table that does not keep what it holds: the collection that makes room for tensors would take its tensors away
// under an operator.
bool is_weak(lua_State* L, int index) {
  if (lua_getmetatable(L, index) == 0) return false;
  lua_pushliteral(L, "__mode");
  lua_rawget(L, -2);
  const bool weak = !lua_isnil(L, -1);
  lua_pop(L, 2);
  return weak;
}

// Texts and tensors live as long as the values on the stack, or in a table on it.
void read_argument(lua_State* L, int index, TensorBinding& binding, OperatorArgument& a, bool in_list) {
  OperatorArguments& all = binding.arguments;
  switch (lua_type(L, index)) {
    case LUA_TNIL: a.kind = Kind::nil; return;
    case LUA_TBOOLEAN:
      a.kind = Kind::boolean;
      a.boolean = lua_toboolean(L, index) != 0;
      return;
    case LUA_TNUMBER:
      a.kind = Kind::number;
      a.number = lua_tonumber(L, index);
      return;
    case LUA_TSTRING: {
      std::size_t length = 0;
      const char* text = lua_tolstring(L, index, &length);
      a.kind = Kind::text;
      a.text = {text, length};
      return;
    }
    case LUA_TUSERDATA:
      if (const at::Tensor* tensor = to_tensor(L, index)) {
        a.kind = Kind::tensor;
        a.tensor = tensor;
        if (!tensor->defined()) all.released = true;
        return;
      }
      break;
    case LUA_TTABLE:
      if (in_list || entry_of(L, index) || is_weak(L, index)) break;
      a.kind = Kind::list;
      a.first = static_cast<std::uint32_t>(all.elements.size());
      a.count = static_cast<std::uint32_t>(lua_objlen(L, index));
      for (std::uint32_t i = 0; i < a.count; ++i) {
        lua_rawgeti(L, index, static_cast<int>(i) + 1);
        all.elements.emplace_back();
        OperatorArgument element;
        read_argument(L, lua_gettop(L), binding, element, true);
        all.elements.back() = element;
        lua_pop(L, 1);
      }
      return;
    default: break;
  }
  a.kind = Kind::other;
  const bool list = lua_istable(L, index) && !entry_of(L, index);
  a.text = binding.others.emplace_back(!list     ? type_text(L, index)
                                       : in_list ? "a list in a list"
                                                 : "a table whose metatable has __mode");
}

// A last table with names: { dim = 0, keepdim = true }. Names come behind all positions.
bool holds_names(lua_State* L, int index) {
  if (lua_type(L, index) != LUA_TTABLE || is_weak(L, index)) return false;
  const std::size_t count = lua_objlen(L, index);
  if (count == 0) {
    lua_pushnil(L);
  } else {
    lua_pushnumber(L, static_cast<double>(count));
  }
  if (lua_next(L, index) == 0) return false;
  lua_pop(L, 1);
  const bool named = lua_type(L, -1) == LUA_TSTRING;
  lua_pop(L, 1);
  return named && !entry_of(L, index);
}

void read_arguments(lua_State* L, int count, const Operator& op, TensorBinding& binding) {
  OperatorArguments& all = binding.arguments;
  all.clear();
  binding.others.clear();
  const bool named = count > 0 && holds_names(L, count);
  const int positional = named ? count - 1 : count;
  all.positional.resize(static_cast<std::size_t>(positional));
  for (int i = 0; i < positional; ++i)
    read_argument(L, i + 1, binding, all.positional[static_cast<std::size_t>(i)], false);
  // Trailing nils are as good as nothing.
  while (!all.positional.empty() && all.positional.back().kind == Kind::nil) all.positional.pop_back();
  if (!named) return;
  lua_pushnil(L);
  while (lua_next(L, count) != 0) {
    if (lua_type(L, -2) != LUA_TSTRING) {
      throw recipe_error("the last argument has names and positions")
          .in("lab.ops." + op.name())
          .hint("write ops." + op.name() + "(a, b, { name = value })");
    }
    OperatorArguments::Named& entry = all.named.emplace_back();
    std::size_t length = 0;
    const char* name = lua_tolstring(L, -2, &length);
    entry.name = {name, length};
    read_argument(L, lua_gettop(L), binding, entry.value, false);
    lua_pop(L, 1);
  }
}

void push_result(lua_State* L, c10::IValue&& value, const c10::Argument* declared) {
  if (value.isTensor()) return push_tensor(L, std::move(value).toTensor());
  if (value.isInt()) {
    const std::int64_t x = value.toInt();
    if (declared && declared->real_type()->kind() == c10::TypeKind::ScalarTypeType) {
      lua_pushstring(L, dtype_name(static_cast<at::ScalarType>(x)).c_str());
      return;
    }
    push_integer(L, x);
  } else if (value.isDouble()) {
    lua_pushnumber(L, value.toDouble());
  } else if (value.isBool()) {
    lua_pushboolean(L, value.toBool() ? 1 : 0);
  } else if (value.isString()) {
    lua_pushlstring(L, value.toStringRef().data(), value.toStringRef().size());
  } else if (value.isDevice()) {
    lua_pushstring(L, value.toDevice().str().c_str());
  } else if (value.isList()) {
    const auto elements = value.toListRef();
    lua_createtable(L, static_cast<int>(elements.size()), 0);
    int i = 0;
    for (const c10::IValue& element : elements) {
      push_result(L, c10::IValue(element), nullptr);
      lua_rawseti(L, -2, ++i);
    }
  } else if (value.isNone()) {
    lua_pushnil(L);
  } else {
    throw recipe_error("a result of type " + value.tagKind() + " has no Lua form");
  }
}

// Upvalue: the operator.
int l_operator(lua_State* L) {
  return guarded(L, [&] {
    return call_operator(L, *static_cast<const Operator*>(lua_touserdata(L, lua_upvalueindex(1))), lua_gettop(L));
  });
}

// lab.ops.NAME for the first time. Arguments: the members, the name.
int l_find_operator(lua_State* L) {
  return guarded(L, [&]() -> int {
    const std::string name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?";
    if (const Operator* op = find_operator(name)) {
      push_operator(L, *op);
      lua_pushvalue(L, 2);
      lua_pushvalue(L, -2);
      lua_rawset(L, 1);
      return 1;
    }
    Error error = recipe_error("lab.ops has no '" + printable_line(name) + "'");
    if (const std::string_view here = member_otherwise(name); !here.empty()) throw error.hint(std::string(here));
    const std::string close = Registry::closest(name, operator_names());
    throw error.hint(close.empty() ? "operators are called as in PyTorch's ATen"
                                   : "did you mean lab.ops." + close + "?");
  });
}

// Arithmetic. Upvalues: the operator of tensor ∘ x; that of number ∘ tensor, or nil: operands change places.
int l_arithmetic(lua_State* L) {
  return guarded(L, [&] {
    lua_settop(L, 2);
    const auto* op = static_cast<const Operator*>(lua_touserdata(L, lua_upvalueindex(1)));
    if (!to_tensor(L, 1)) {
      if (const void* reversed = lua_touserdata(L, lua_upvalueindex(2))) {
        op = static_cast<const Operator*>(reversed);
        if (op->name() == "rsub") lua_insert(L, 1);  // rsub(t, 2) is 2 − t
      } else {
        lua_insert(L, 1);
      }
    }
    return call_operator(L, *op, 2);
  });
}

// number / tensor, as PyTorch has it: the reciprocal times the number.
int l_divide(lua_State* L) {
  return guarded(L, [&] {
    lua_settop(L, 2);
    if (to_tensor(L, 1)) return call_operator(L, *find_operator("div"), 2);
    lua_insert(L, 1);
    call_operator(L, *find_operator("reciprocal"), 1);
    lua_replace(L, 1);
    return call_operator(L, *find_operator("mul"), 2);
  });
}

int l_negate(lua_State* L) {
  return guarded(L, [&] {
    lua_settop(L, 1);
    return call_operator(L, *static_cast<const Operator*>(lua_touserdata(L, lua_upvalueindex(1))), 1);
  });
}

int l_refuse_order(lua_State* L) {
  return guarded(L, [&]() -> int {
    throw recipe_error("< and > do not compare tensors")
        .hint("a:lt(b), a:le(b), a:gt(b) and a:ge(b) do, element by element");
  });
}

}  // namespace

void push_operator(lua_State* L, const Operator& op) {
  lua_pushlightuserdata(L, const_cast<Operator*>(&op));
  lua_pushcclosure(L, l_operator, 1);
}

int call_operator(lua_State* L, const Operator& op, int count) {
  LuaState& state = LuaState::of(L);
  TensorBinding& binding = *state.tensors;
  OperatorArguments& arguments = binding.arguments;
  read_arguments(L, count, op, binding);
  const Overload& overload = [&]() -> const Overload& {
    try {
      return op.choose(arguments);
    } catch (Error& error) {
      if (std::ranges::find(binding.others, "an object of type batch") == binding.others.end()) throw;
      throw error.hint("a batch holds tensors: batch.x, batch.y; a function for a loss or a metric gets (out, batch)");
    }
  }();
  torch::jit::Stack& results = binding.results;
  try {
    const Running running(L, state.meter(), op);
    if (overload.draws()) {
      const Stream before = state.random();
      for_recipe(L, overload.in_place(), [&] {
        state.random() = before;  // a second attempt draws the same
        overload.call(arguments, state.random(), results);
      });
    } else {
      for_recipe(L, overload.in_place(), [&] { overload.call(arguments, state.random(), results); });
    }
  } catch (Error& error) {
    throw error.in("lab.ops." + op.name());
  } catch (const std::exception& exception) {
    throw op.explain(overload, arguments, exception);
  }
  const auto& declared = overload.schema().returns();
  for (std::size_t i = 0; i < results.size(); ++i) {
    // In place: the tensor that was given.
    const bool same = results[i].isTensor() && !arguments.positional.empty() &&
                      arguments.positional[0].kind == Kind::tensor &&
                      results[i].toTensor().is_same(*arguments.positional[0].tensor);
    if (same) {
      lua_pushvalue(L, 1);
    } else {
      push_result(L, std::move(results[i]), i < declared.size() ? &declared[i] : nullptr);
    }
  }
  const auto pushed = static_cast<int>(results.size());
  results.clear();
  return pushed;
}

void open_operators(lua_State* L, int metatable) {
  lua_newtable(L);
  make_namespace(L, "lab.ops", l_find_operator, nullptr);
  set_lab_member(L, "ops");

  struct Arithmetic {
    const char *event, *op, *reversed;
  };
  constexpr Arithmetic all[] = {{"__add", "add", nullptr},
                                {"__sub", "sub", "rsub"},
                                {"__mul", "mul", nullptr},
                                {"__mod", "remainder", "remainder"},
                                {"__pow", "pow", "pow"}};
  const auto pointer = [&](const char* name) {
    lua_pushlightuserdata(L, name ? const_cast<Operator*>(find_operator(name)) : nullptr);
  };
  for (const Arithmetic& arithmetic : all) {
    pointer(arithmetic.op);
    pointer(arithmetic.reversed);
    lua_pushcclosure(L, l_arithmetic, 2);
    lua_setfield(L, metatable, arithmetic.event);
  }
  lua_pushcfunction(L, l_divide);
  lua_setfield(L, metatable, "__div");
  pointer("neg");
  lua_pushcclosure(L, l_negate, 1);
  lua_setfield(L, metatable, "__unm");
  for (const char* event : {"__lt", "__le"}) {
    lua_pushcfunction(L, l_refuse_order);
    lua_setfield(L, metatable, event);
  }
}

}  // namespace trainlab

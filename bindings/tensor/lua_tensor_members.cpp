// Fields of tensors, and methods that are no operators.
#include <ATen/ops/_local_scalar_dense.h>

#include <cctype>
#include <lua.hpp>
#include <utility>

#include "bindings/lua_error.h"
#include "bindings/marshal.h"
#include "core/known_elsewhere.h"
#include "core/printable.h"
#include "core/trace.h"
#include "sandbox/underway.h"
#include "tensor/operator_errors.h"
#include "tensor/text.h"
#include "tensor/types.h"
#include "tensor_binding.h"
#include "values/entry_table.h"

namespace trainlab {

namespace {

constexpr std::int64_t kValueBytes = 8;  // of a value in a list of Lua

void push_shape(lua_State* L, at::IntArrayRef shape) {
  lua_createtable(L, static_cast<int>(shape.size()), 0);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    lua_pushnumber(L, static_cast<double>(shape[i]));
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
  lua_rawgeti(L, LUA_REGISTRYINDEX, LuaState::of(L).tensors->shape_reference);
  lua_setmetatable(L, -2);
}

// __index of shapes: names and numbers that are none of the sizes.
int l_no_size(lua_State* L) {
  return guarded(L, [&] {
    if (lua_type(L, 2) == LUA_TNUMBER && lua_tonumber(L, 2) < 1) {
      throw recipe_error("t.shape counts from 1, as all Lua tables, found " + number_text(lua_tonumber(L, 2)))
          .hint("t.shape[1] is the first size; t:size(0) and t:size(-1) count as PyTorch does");
    }
    lua_pushnil(L);
    return 1;
  });
}

int l_tensor_release(lua_State* L) {
  return guarded(L, [&] {
    at::Tensor* tensor = to_tensor(L, 1);
    if (!tensor) throw recipe_error("expected a tensor, found " + type_text(L, 1)).in("tensor:release");
    tensor->reset();
    return 0;
  });
}

void push_element(lua_State* L, const at::Tensor& value) {
  switch (value.scalar_type()) {
    case at::kBool: lua_pushboolean(L, value.item<bool>() ? 1 : 0); break;
    case at::kComplexFloat:
    case at::kComplexDouble:
    case at::kComplexHalf:
      throw recipe_error("a complex number has no Lua form").hint("lab.ops.view_as_real gives its two parts");
    default:
      if (at::isIntegralType(value.scalar_type(), false)) {
        push_integer(L, value.item<std::int64_t>());
      } else {
        lua_pushnumber(L, value.item<double>());
      }
  }
}

int l_item(lua_State* L) {
  return guarded(L, [&] {
    const at::Tensor& tensor = check_tensor(L, 1);
    if (tensor.numel() != 1) {
      throw recipe_error("expected a tensor of one element, found " + tensor_kind(tensor))
          .in("tensor:item")
          .hint("t:tolist() gives all values, t[i] one row");
    }
    const Span span(Phase::read);
    with_operator_errors([&] { push_element(L, tensor.detach()); });
    return 1;
  });
}

void push_list(lua_State* L, const at::Tensor& tensor) {
  if (tensor.dim() == 0) {
    push_element(L, tensor);
    return;
  }
  if (lua_checkstack(L, 4) == 0) throw recipe_error("a tensor of too many dimensions");
  const std::int64_t n = tensor.size(0);
  lua_createtable(L, static_cast<int>(n), 0);
  if (tensor.dim() == 1 && tensor.scalar_type() == at::kDouble) {  // the many: no tensor for each
    const at::Tensor values = tensor.contiguous();
    for (std::int64_t i = 0; i < n; ++i) {
      lua_pushnumber(L, values.const_data_ptr<double>()[i]);
      lua_rawseti(L, -2, static_cast<int>(i) + 1);
    }
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    push_list(L, tensor[i]);
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
}

int l_tolist(lua_State* L) {
  return guarded(L, [&] {
    const Span span(Phase::read);
    with_operator_errors([&] {
      const at::Tensor& given = check_tensor(L, 1);
      const std::int64_t most = LuaState::of(L).host().limits.memory / kValueBytes;
      if (given.numel() > most) {
        throw recipe_error("expected at most " + std::to_string(most) +
                           " elements, which the memory of Lua can hold, found " + tensor_kind(given))
            .in("tensor:tolist")
            .hint("t[{ {0, 1000} }]:tolist() gives the first rows");
      }
      const at::Tensor tensor = given.detach().cpu();
      push_list(L, at::isFloatingType(tensor.scalar_type()) ? tensor.to(at::kDouble) : tensor);
    });
    return 1;
  });
}

// t:requires_grad() asks, t:requires_grad(true) sets and gives t.
int l_requires_grad(lua_State* L) {
  return guarded(L, [&] {
    const at::Tensor& tensor = check_tensor(L, 1);
    if (lua_gettop(L) == 1) {
      lua_pushboolean(L, tensor.requires_grad() ? 1 : 0);
      return 1;
    }
    if (!lua_isboolean(L, 2)) {
      throw recipe_error("expected true, false or nothing, found " + type_text(L, 2)).in("tensor:requires_grad");
    }
    try {
      tensor.set_requires_grad(lua_toboolean(L, 2) != 0);
    } catch (const c10::Error& error) {
      throw torch_error(error).in("tensor:requires_grad");
    }
    lua_settop(L, 1);
    return 1;
  });
}

bool flag(lua_State* L, int table, const char* name) {
  if (table == 0) return false;
  lua_pushstring(L, name);
  lua_rawget(L, table);
  const bool set = lua_toboolean(L, -1) != 0;
  lua_pop(L, 1);
  return set;
}

// t:backward([gradient], { retain_graph = false, create_graph = false })
int l_backward(lua_State* L) {
  return guarded(L, [&] {
    const at::Tensor& tensor = check_tensor(L, 1);
    int next = 2;
    at::Tensor gradient;
    if (to_tensor(L, next)) gradient = check_tensor(L, next++);
    int options = 0;
    if (lua_istable(L, next)) {
      options = next++;
      lua_pushnil(L);
      while (lua_next(L, options) != 0) {
        lua_pop(L, 1);
        const std::string name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "?";
        if (name == "retain_graph" || name == "create_graph") continue;
        throw recipe_error("there is no argument '" + name + "'")
            .in("tensor:backward")
            .hint("it takes retain_graph and create_graph");
      }
    }
    for (; next <= lua_gettop(L); ++next) {
      if (lua_isnil(L, next)) continue;
      throw recipe_error("expected a gradient and a table of options, found " + type_text(L, next))
          .in("tensor:backward")
          .hint("loss:backward(), loss:backward({ retain_graph = true }) or t:backward(gradient, { … })");
    }
    if (!tensor.requires_grad()) {
      throw recipe_error("no tensor from which this tensor was computed requires a gradient")
          .in("tensor:backward")
          .hint("weights are made with { requires_grad = true }, and not inside lab.no_grad");
    }
    if (!gradient.defined() && tensor.numel() != 1) {
      throw recipe_error("expected a scalar, found " + tensor_kind(tensor))
          .in("tensor:backward")
          .hint("take t:mean() or t:sum() first, or give a gradient of the same shape");
    }
    const bool create = flag(L, options, "create_graph");
    const bool retain = create || flag(L, options, "retain_graph");
    try {
      const EngineWork work(L);
      const Underway underway(L, "tensor:backward");
      const Span span(Phase::backward);
      for_recipe(L, /*once=*/true, [&] { tensor.backward(gradient, retain, create); });
    } catch (const std::exception& exception) {
      Error plain = operator_error(exception);
      if (plain.message().find("modified by an inplace operation") != std::string::npos)
        plain.hint("an operator whose name ends in _, or t[…] = …, has changed a tensor that the backward pass needs");
      throw plain.in("tensor:backward");
    }
    return 0;
  });
}

int l_field_shape(lua_State* L) {
  push_shape(L, check_tensor(L, 1).sizes());
  return 1;
}
int l_field_dtype(lua_State* L) {
  lua_pushstring(L, dtype_name(check_tensor(L, 1).scalar_type()).c_str());
  return 1;
}
int l_field_device(lua_State* L) {
  lua_pushstring(L, check_tensor(L, 1).device().str().c_str());
  return 1;
}
int l_field_ndim(lua_State* L) {
  lua_pushnumber(L, static_cast<double>(check_tensor(L, 1).dim()));
  return 1;
}
int l_field_grad(lua_State* L) {
  const at::Tensor& tensor = check_tensor(L, 1);
  push_tensor(L, tensor.is_leaf() || tensor.retains_grad() ? tensor.grad() : at::Tensor());
  return 1;
}
int l_field_leaf(lua_State* L) {
  lua_pushboolean(L, check_tensor(L, 1).is_leaf() ? 1 : 0);
  return 1;
}

int l_dim(lua_State* L) {
  return guarded(L, [&] { return l_field_ndim(L); });
}

int l_numel(lua_State* L) {
  return guarded(L, [&] {
    lua_pushnumber(L, static_cast<double>(check_tensor(L, 1).numel()));
    return 1;
  });
}

struct Field {
  const char* name;
  int (*push)(lua_State*);
};
constexpr Field fields[] = {{"shape", l_field_shape}, {"dtype", l_field_dtype}, {"device", l_field_device},
                            {"ndim", l_field_ndim},   {"grad", l_field_grad},   {"is_leaf", l_field_leaf}};

// Whether a key may be the name of a member: a range of Python in quotes, as t["1:3"], may not.
bool is_word(const std::string& name) {
  return !name.empty() && (name.front() == '_' || std::isalpha(static_cast<unsigned char>(name.front())) != 0);
}

// PyTorch's methods of conversion with names of C types: t:long() is t:to("int64") here.
const char* dtype_called(std::string_view method) {
  constexpr std::pair<std::string_view, const char*> methods[] = {
      {"float", "float32"}, {"double", "float64"}, {"half", "float16"}, {"long", "int64"}, {"int", "int32"},
      {"short", "int16"},   {"char", "int8"},      {"byte", "uint8"},   {"bool", "bool"}};
  for (const auto& [name, dtype] : methods) {
    if (name == method) return dtype;
  }
  return nullptr;
}

}  // namespace

// Fields are among the methods as light userdata of their Field. Anything else is an operator that takes a tensor
// first.
int find_member(lua_State* L) {
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(1));
  if (lua_islightuserdata(L, -1)) {
    return guarded(L, [&] { return static_cast<const Field*>(lua_touserdata(L, 3))->push(L); });
  }
  return guarded(L, [&]() -> int {
    const std::string name = lua_tostring(L, 2);
    if (const Operator* op = find_operator(name)) {
      for (const Overload& overload : op->overloads()) {
        if (overload.parameters().empty() || overload.parameters()[0].takes != Takes::tensor) continue;
        push_operator(L, *op);
        lua_pushvalue(L, 2);
        lua_pushvalue(L, -2);
        lua_rawset(L, lua_upvalueindex(1));
        return 1;
      }
      throw recipe_error("a tensor has no '" + name + "'").hint("the operator is called lab.ops." + name + "(…)");
    }
    std::vector<std::string> names = operator_names();
    lua_pushnil(L);
    while (lua_next(L, lua_upvalueindex(1)) != 0) {
      lua_pop(L, 1);
      names.emplace_back(lua_tostring(L, -1));
    }
    Error error = recipe_error("a tensor has no '" + printable_line(name) + "'");
    if (const char* dtype = dtype_called(name)) throw error.hint("t:to(\"" + std::string(dtype) + "\")");
    if (const std::string_view here = member_otherwise("tensor", name); !here.empty())
      throw error.hint(std::string(here));
    if (!is_word(name)) throw error.hint(range_hint);
    const std::string close = Registry::closest(name, names);
    if (!close.empty()) error.hint("did you mean '" + close + "'?");
    throw error;
  });
}

void open_tensor_members(lua_State* L, int methods) {
  constexpr luaL_Reg functions[] = {{"dim", l_dim},
                                    {"numel", l_numel},
                                    {"item", l_item},
                                    {"tolist", l_tolist},
                                    {"requires_grad", l_requires_grad},
                                    {"backward", l_backward},
                                    {"release", l_tensor_release},
                                    {nullptr, nullptr}};
  for (const luaL_Reg* function = functions; function->name; ++function) {
    lua_pushcfunction(L, function->func);
    lua_setfield(L, methods, function->name);
  }
  lua_newtable(L);
  lua_pushcfunction(L, l_no_size);
  lua_setfield(L, -2, "__index");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  LuaState::of(L).tensors->shape_reference = luaL_ref(L, LUA_REGISTRYINDEX);
  for (const Field& field : fields) {
    lua_pushlightuserdata(L, const_cast<Field*>(&field));
    lua_setfield(L, methods, field.name);
  }
}

}  // namespace trainlab

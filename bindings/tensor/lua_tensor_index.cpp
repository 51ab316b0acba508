// t[…]: indices from 0, negative ones from the end.
//
//   t[2]  t[-1]              a row
//   t[{ 0, 2 }]              an element of a matrix: an index for each axis, in order
//   t[{ {1, 4}, 2 }]         { from, to }: from … to − 1, with { from, to, step } in steps; { from } to the end
//   t[{ {}, 0 }]             {} is the whole axis; axes that are not named are whole
//   t[mask]  t[{ {}, ids }]  a boolean mask; a tensor of indices
//   t[…] = value             a number or a tensor, in place
#include <ATen/ops/index.h>

#include <lua.hpp>

#include "bindings/lua_error.h"
#include "tensor/operator_errors.h"
#include "tensor/text.h"
#include "tensor/types.h"
#include "tensor_binding.h"
#include "values/entry_table.h"

namespace trainlab {

namespace {

std::int64_t whole_number(lua_State* L, int index, const std::string& what) {
  const double x = lua_type(L, index) == LUA_TNUMBER ? lua_tonumber(L, index) : 0.5;
  const auto n = static_cast<std::int64_t>(x);
  if (static_cast<double>(n) != x) throw recipe_error("expected " + what + ", found " + type_text(L, index));
  return n;
}

// Element `i` of an axis of the view, which is `axis_of_whole` of the tensor `whole`.
at::Tensor select(const at::Tensor& view, std::int64_t axis, std::int64_t i, const at::Tensor& whole,
                  std::int64_t axis_of_whole) {
  if (axis >= view.dim()) throw recipe_error("too many indices for " + tensor_kind(whole));
  const std::int64_t n = view.size(axis);
  if (i < -n || i >= n) {
    throw recipe_error("index " + std::to_string(i) + " is outside of axis " + std::to_string(axis_of_whole) +
                       ", which has " + std::to_string(n) + " elements")
        .hint("indices count from 0; the shape is " + shape_text(whole.sizes()));
  }
  return view.select(axis, i);
}

// { from, to, step } at stack index `range`.
at::Tensor slice(lua_State* L, int range, const at::Tensor& tensor, std::int64_t axis) {
  const auto count = static_cast<int>(lua_objlen(L, range));
  if (count == 0) return tensor;
  if (count > 3) throw recipe_error("expected { from, to, step }, found " + std::to_string(count) + " values");
  std::int64_t values[3] = {0, tensor.size(axis), 1};
  for (int i = 0; i < count; ++i) {
    lua_rawgeti(L, range, i + 1);
    values[i] = whole_number(L, -1, "whole numbers in { from, to, step }");
    lua_pop(L, 1);
  }
  if (values[2] < 1) throw recipe_error("expected a step of at least 1, found " + std::to_string(values[2]));
  return tensor.slice(axis, values[0], values[1], values[2]);
}

struct Place {
  at::Tensor view;                                  // after numbers and ranges
  c10::List<std::optional<at::Tensor>> by_tensors;  // indices that are tensors, by axis of the view
};

void add_tensor(Place& place, std::int64_t axis, const at::Tensor& index) {
  const bool fits = index.scalar_type() == at::kBool || at::isIntegralType(index.scalar_type(), false);
  if (!fits) throw recipe_error("expected indices (int64) or a mask (bool), found a tensor " + tensor_kind(index));
  while (static_cast<std::int64_t>(place.by_tensors.size()) < axis) place.by_tensors.push_back(std::nullopt);
  place.by_tensors.push_back(index);
}

// The place that the key at stack index 2 names in the tensor at 1.
Place find_place(lua_State* L, const at::Tensor& tensor) {
  Place place;
  place.view = tensor;
  if (lua_type(L, 2) == LUA_TNUMBER) {
    place.view = select(tensor, 0, whole_number(L, 2, "a whole number as index"), tensor, 0);
    return place;
  }
  if (to_tensor(L, 2)) {
    add_tensor(place, 0, check_tensor(L, 2));
    return place;
  }
  const bool plain = lua_istable(L, 2) && !entry_of(L, 2);
  if (!plain) throw recipe_error("expected an index, found " + type_text(L, 2));
  std::int64_t axis = 0, selected = 0;  // numbers take their axes out of the view
  const auto count = static_cast<int>(lua_objlen(L, 2));
  for (int i = 1; i <= count; ++i) {
    lua_rawgeti(L, 2, i);
    const int value = lua_gettop(L);
    if (lua_type(L, value) == LUA_TNUMBER) {
      const std::int64_t number = whole_number(L, value, "a whole number as index");
      place.view = select(place.view, axis, number, tensor, axis + selected++);
    } else if (to_tensor(L, value)) {
      const at::Tensor& index = check_tensor(L, value);
      add_tensor(place, axis, index);
      axis += index.scalar_type() == at::kBool ? index.dim() : 1;
    } else if (lua_istable(L, value) && !entry_of(L, value)) {
      if (axis >= place.view.dim()) throw recipe_error("too many indices for " + tensor_kind(tensor));
      place.view = slice(L, value, place.view, axis++);
    } else {
      throw recipe_error("[" + std::to_string(i) + "]: expected a number, { from, to } or a tensor, found " +
                         type_text(L, value))
          .hint(lua_type(L, value) == LUA_TSTRING ? range_hint : "");
    }
    lua_settop(L, value - 1);
  }
  return place;
}

// Upvalue: the methods.
int l_tensor_index(lua_State* L) {
  if (lua_type(L, 2) == LUA_TSTRING) {
    lua_pushvalue(L, 2);
    lua_rawget(L, lua_upvalueindex(1));
    return lua_iscfunction(L, -1) ? 1 : find_member(L);
  }
  return guarded(L, [&] {
    with_operator_errors([&] {
      const Place place = find_place(L, check_tensor(L, 1));
      at::Tensor found = place.view;
      if (!place.by_tensors.empty()) for_recipe(L, false, [&] { found = at::index(place.view, place.by_tensors); });
      push_tensor(L, std::move(found));
    });
    return 1;
  });
}

void set_field(lua_State* L, const at::Tensor& tensor) {
  const std::string name = lua_tostring(L, 2);
  if (name != "grad") {
    throw recipe_error("the field '" + name + "' of a tensor cannot be set")
        .hint(std::string("t.grad can, and t[…]; ") + range_hint);
  }
  if (lua_isnil(L, 3)) {
    tensor.mutable_grad().reset();
    return;
  }
  const at::Tensor& gradient = check_tensor(L, 3);
  if (gradient.sizes() != tensor.sizes() || gradient.scalar_type() != tensor.scalar_type()) {
    throw recipe_error("expected a gradient " + tensor_kind(tensor) + ", found " + tensor_kind(gradient))
        .in("tensor.grad");
  }
  tensor.mutable_grad() = gradient;
}

int l_tensor_assign(lua_State* L) {
  return guarded(L, [&] {
    with_operator_errors([&] {
      const at::Tensor& tensor = check_tensor(L, 1);
      if (lua_type(L, 2) == LUA_TSTRING) {
        set_field(L, tensor);
        return;
      }
      Place place = find_place(L, tensor);
      const bool number = lua_type(L, 3) == LUA_TNUMBER;
      if (!number && !lua_isboolean(L, 3) && !to_tensor(L, 3))
        throw recipe_error("t[…] = value: expected a number or a tensor, found " + type_text(L, 3));
      const at::Tensor value = to_tensor(L, 3) ? check_tensor(L, 3) : at::Tensor();
      const double scalar = number ? lua_tonumber(L, 3) : lua_toboolean(L, 3);
      if (number) check_holds(tensor.scalar_type(), scalar);
      if (place.by_tensors.empty()) {
        if (value.defined()) {
          place.view.copy_(value);
        } else {
          place.view.fill_(scalar);
        }
      } else {
        place.view.index_put_(place.by_tensors,
                              value.defined() ? value.to(place.view.scalar_type()) : place.view.new_full({}, scalar));
      }
    });
    return 0;
  });
}

}  // namespace

void open_tensor_indexing(lua_State* L, int metatable) {
  lua_pushcclosure(L, l_tensor_index, 1);
  lua_setfield(L, metatable, "__index");
  lua_pushcfunction(L, l_tensor_assign);
  lua_setfield(L, metatable, "__newindex");
}

}  // namespace trainlab

#include "lua_batch.h"

#include <lua.hpp>

#include "bindings/lua_error.h"
#include "bindings/lua_object.h"
#include "core/known_elsewhere.h"
#include "core/printable.h"
#include "data/batch_object.h"
#include "tensor/device.h"
#include "tensor/lua_tensor.h"
#include "tensor/text.h"
#include "values/entry_table.h"

namespace trainlab {

namespace {

std::string name_of(lua_State* L) {
  if (lua_type(L, 2) != LUA_TSTRING) throw recipe_error("a batch is read by name: batch.x, batch.y, batch.size");
  return lua_tostring(L, 2);
}

// The index on the device of the columns. The loader leaves the index on the host, because few recipes ask for it.
at::Tensor index_of(const BatchObject& batch) {
  if (!batch.index.defined() || batch.columns.empty()) return batch.index;
  std::vector<at::Tensor> moved{batch.index};
  device_at(batch.columns.begin()->second.device()).take(moved);
  return moved.front();
}

int l_batch_index(lua_State* L) {
  return guarded(L, [&] {
    const auto& batch = check_object<BatchObject>(L, 1, "batch");
    const std::string name = name_of(L);
    if (const auto column = batch.columns.find(name); column != batch.columns.end()) {
      push_tensor(L, column->second);
    } else if (name == "size") {
      lua_pushnumber(L, static_cast<double>(batch.size));
    } else if (name == "index") {
      push_tensor(L, index_of(batch));
    } else {
      Error error = recipe_error("this batch has no '" + printable_line(name) + "'");
      if (const std::string_view here = member_otherwise("batch", name); !here.empty())
        throw error.hint(std::string(here));
      std::string all;
      for (const auto& [known, tensor] : batch.columns) all += known + ", ";
      throw error.hint("it has " + all + "size and index; the target of a loss is batch.y");
    }
    return 1;
  });
}

// batch.x = tensor: a column that is there, or a new one.
int l_batch_assign(lua_State* L) {
  return guarded(L, [&] {
    auto& batch = check_object<BatchObject>(L, 1, "batch");
    const std::string name = name_of(L);
    if (name == "size" || name == "index") throw recipe_error("batch." + name + " cannot be set");
    if (!to_tensor(L, 3)) throw recipe_error("expected a tensor, found " + type_text(L, 3)).in("batch." + name);
    const at::Tensor& tensor = check_tensor(L, 3);
    if (tensor.dim() == 0 || tensor.size(0) != batch.size) {
      throw recipe_error("expected a row for each of the " + std::to_string(batch.size) + " samples, found " +
                         tensor_kind(tensor))
          .in("batch." + name);
    }
    batch.columns[name] = tensor;
    return 0;
  });
}

int l_to_text(lua_State* L) {
  return guarded(L, [&] {
    const auto& batch = check_object<BatchObject>(L, 1, "batch");
    std::string text = "batch of " + std::to_string(batch.size) + ":";
    for (const auto& [name, tensor] : batch.columns) text += " " + name + " " + tensor_kind(tensor);
    lua_pushlstring(L, text.data(), text.size());
    return 1;
  });
}

}  // namespace

void open_batch(lua_State* L) {
  lua_newtable(L);
  lua_pushcfunction(L, l_batch_index);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, l_batch_assign);
  lua_setfield(L, -2, "__newindex");
  lua_pushcfunction(L, l_to_text);
  lua_setfield(L, -2, "__tostring");
  define_object_type(L, "batch");
}

}  // namespace trainlab

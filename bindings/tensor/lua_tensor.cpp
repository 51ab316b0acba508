// The type "tensor": userdata and what Lua itself asks of them.
#include "tensor_binding.h"

#include <algorithm>
#include <lua.hpp>
#include <new>

#include "bindings/lua_error.h"
#include "core/host.h"
#include "tensor/device.h"
#include "tensor/operator_errors.h"
#include "tensor/text.h"
#include "tensor/types.h"
#include "values/entry_table.h"

namespace trainlab {

namespace {

// Type-checked and idempotent: to release a tensor twice is nothing.
int l_collect(lua_State* L) {
  if (at::Tensor* tensor = to_tensor(L, 1)) tensor->reset();
  return 0;
}

int l_to_text(lua_State* L) {
  return guarded(L, [&] {
    const at::Tensor* tensor = to_tensor(L, 1);
    const std::string text = tensor && tensor->defined() ? with_operator_errors([&] { return tensor_text(*tensor); })
                                                         : "a tensor that was released";
    lua_pushlstring(L, text.data(), text.size());
    return 1;
  });
}

int l_length(lua_State* L) {
  return guarded(L, [&] {
    const at::Tensor& tensor = check_tensor(L, 1);
    if (tensor.dim() == 0)
      throw recipe_error("a tensor without dimensions has no length").hint("t:item() is its value");
    lua_pushnumber(L, static_cast<double>(tensor.size(0)));
    return 1;
  });
}

// Lua makes one truth value of what __eq returns, which cannot be the tensor of PyTorch's ==. Lua asks only for two
// userdata; a tensor never equals nil or a number.
int l_equal(lua_State* L) {
  return guarded(L, [&]() -> int {
    throw recipe_error("tensors cannot be compared by == and ~=")
        .hint("a:eq(b) and a:ne(b) compare element by element; a:equal(b) is true when shape and all elements agree");
  });
}

}  // namespace

at::Tensor* to_tensor(lua_State* L, int index) {
  void* memory = lua_touserdata(L, index);
  if (!memory || lua_getmetatable(L, index) == 0) return nullptr;
  const TensorBinding* binding = LuaState::of(L).tensors.get();
  const bool ours = binding && lua_topointer(L, -1) == binding->metatable;
  lua_pop(L, 1);
  return ours ? static_cast<at::Tensor*>(memory) : nullptr;
}

const at::Tensor& check_tensor(lua_State* L, int index) {
  const at::Tensor* tensor = to_tensor(L, index);
  if (!tensor) {
    throw recipe_error("expected a tensor, found " + type_text(L, index))
        .hint("methods are called with a colon: t:name(…)");
  }
  if (!tensor->defined()) {
    throw recipe_error("a tensor was used after it had been released")
        .hint("lab.scope releases all tensors that its function makes and does not return");
  }
  return *tensor;
}

NamedTensors named_tensors_at(lua_State* L, int index) {
  NamedTensors tensors;
  lua_pushnil(L);
  while (lua_next(L, index) != 0) {
    if (lua_type(L, -2) != LUA_TSTRING) {
      throw recipe_error("expected the names of tensors, found the key " + type_text(L, -2));
    }
    if (!to_tensor(L, -1)) {
      throw recipe_error(std::string("expected a tensor as '") + lua_tostring(L, -2) + "', found " + type_text(L, -1));
    }
    tensors.emplace(lua_tostring(L, -2), check_tensor(L, -1));
    lua_pop(L, 1);
  }
  return tensors;
}

namespace {

// Bytes of the tensors on all devices on which this state has had tensors.
std::int64_t live_bytes(const TensorBinding& binding) {
  std::int64_t bytes = 0;
  for (const Device* const device : binding.devices) bytes += device->live_bytes();
  return bytes;
}

void note_device(TensorBinding& binding, const at::Tensor& tensor) {
  if (tensor.is_cpu()) return;  // the list always has the CPU
  const auto place = tensor.device();
  if (std::ranges::find(binding.devices, place, &Device::place) == binding.devices.end())
    binding.devices.push_back(&device_at(place));
}

}  // namespace

// The next time comes when half as much again is alive, so that collections stay rare beside what they look at: at
// least 16 MiB, at most an eighth of the memory.
void collect_tensors(lua_State* L) {
  lua_gc(L, LUA_GCCOLLECT, 0);
  constexpr std::int64_t least = std::int64_t{16} << 20;
  TensorBinding& binding = *LuaState::of(L).tensors;
  const std::int64_t live = live_bytes(binding);
  binding.collect_at = live + std::clamp(live / 2, least, std::max(least, usable_memory() / 8));
}

void push_tensor(lua_State* L, at::Tensor tensor) {
  if (!tensor.defined()) {
    lua_pushnil(L);
    return;
  }
  TensorBinding& binding = *LuaState::of(L).tensors;
  note_device(binding, tensor);
  if (live_bytes(binding) > binding.collect_at) collect_tensors(L);
  void* memory = lua_newuserdata(L, sizeof(at::Tensor));
  new (memory) at::Tensor(std::move(tensor));
  lua_rawgeti(L, LUA_REGISTRYINDEX, binding.metatable_reference);
  lua_setmetatable(L, -2);
  if (binding.scope_reference != 0) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, binding.scope_reference);
    lua_pushvalue(L, -2);
    lua_rawseti(L, -2, ++binding.scope_count);
    lua_pop(L, 1);
  }
}

void make_namespace(lua_State* L, const char* name, lua_CFunction missing, lua_CFunction call) {
  const int members = lua_gettop(L);
  lua_newuserdata(L, 0);
  lua_newtable(L);  // the object's metatable
  lua_pushvalue(L, members);
  lua_setfield(L, -2, "__index");
  const auto closure = [&](const char* field, lua_CFunction function) {
    lua_pushstring(L, name);
    lua_pushcclosure(L, function, 1);
    lua_setfield(L, -2, field);
  };
  closure("__tostring", [](lua_State* state) {
    lua_pushvalue(state, lua_upvalueindex(1));
    return 1;
  });
  closure("__newindex", [](lua_State* state) {
    return guarded(state, [&]() -> int {
      throw recipe_error(std::string(lua_tostring(state, lua_upvalueindex(1))) + " cannot be changed");
    });
  });
  if (call) closure("__call", call);
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_setmetatable(L, -2);
  lua_newtable(L);  // of the members
  closure("__index", missing);
  lua_setmetatable(L, members);
  lua_replace(L, members);
}

at::Device run_device(const LuaState& state) {
  const auto& device = state.host().device;
  return device ? parse_device(device()) : at::Device(at::kCPU);
}

void open_tensors(lua_State* L) {
  LuaState& state = LuaState::of(L);
  count_tensor_memory();
  state.tensors = std::make_shared<TensorBinding>();
  TensorBinding& binding = *state.tensors;
  binding.devices = {&device_at(at::kCPU)};
  lua_newtable(L);
  const int metatable = lua_gettop(L);
  lua_newtable(L);
  const int methods = lua_gettop(L);
  binding.metatable = lua_topointer(L, metatable);

  open_tensor_members(L, methods);
  open_tensor_indexing(L, metatable);
  open_operators(L, metatable);
  open_tensor_constructors(L);
  open_tensor_scopes(L);

  constexpr luaL_Reg functions[] = {
      {"__gc", l_collect}, {"__tostring", l_to_text}, {"__len", l_length}, {"__eq", l_equal}, {nullptr, nullptr}};
  for (const luaL_Reg* function = functions; function->name; ++function) {
    lua_pushcfunction(L, function->func);
    lua_setfield(L, metatable, function->name);
  }
  lua_pushboolean(L, 0);
  lua_setfield(L, metatable, "__metatable");
  binding.metatable_reference = luaL_ref(L, LUA_REGISTRYINDEX);
}

}  // namespace trainlab

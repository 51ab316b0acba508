#include "bindings/lua_object.h"

#include <lua.hpp>
#include <new>
#include <stdexcept>

#include "core/error.h"
#include "core/words.h"
#include "entry_table.h"
#include "sandbox/weak_table.h"
#include "tensor/lua_tensor.h"
#include "tensor/tensor_object.h"
#include "tensor/types.h"

namespace trainlab {

namespace {

const char kMark = 0;  // its address marks the metatables of objects

std::string registry_key(std::string_view type) { return "trainlab.object." + std::string(type); }

// Userdata of ours or nullptr: marked by the metatable, which a recipe can neither reach nor replace.
std::shared_ptr<Object>* handle(lua_State* L, int index) {
  if (lua_type(L, index) != LUA_TUSERDATA || lua_getmetatable(L, index) == 0) return nullptr;
  push_key(L, kMark);
  lua_rawget(L, -2);
  const bool ours = lua_toboolean(L, -1) != 0;
  lua_pop(L, 2);
  return ours ? static_cast<std::shared_ptr<Object>*>(lua_touserdata(L, index)) : nullptr;
}

int l_release(lua_State* L) {
  if (std::shared_ptr<Object>* object = handle(L, 1)) object->reset();
  return 0;
}

}  // namespace

void define_object_type(lua_State* L, std::string_view type) {
  push_key(L, kMark);
  lua_pushboolean(L, 1);
  lua_rawset(L, -3);
  lua_pushcfunction(L, l_release);
  lua_setfield(L, -2, "__gc");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_setfield(L, LUA_REGISTRYINDEX, registry_key(type).c_str());
}

void push_object(lua_State* L, const std::shared_ptr<Object>& object) {
  if (!object) {
    lua_pushnil(L);
    return;
  }
  if (const auto* tensor = dynamic_cast<const TensorObject*>(object.get())) {
    push_tensor(L, tensor->tensor);
    return;
  }
  lua_getfield(L, LUA_REGISTRYINDEX, registry_key(object->type_name()).c_str());
  if (!lua_istable(L, -1))
    throw std::logic_error("objects of type '" + std::string(object->type_name()) + "' are unknown to Lua");
  void* memory = lua_newuserdata(L, sizeof(std::shared_ptr<Object>));
  new (memory) std::shared_ptr<Object>(object);
  lua_insert(L, -2);
  lua_setmetatable(L, -2);
}

std::shared_ptr<Object> to_object(lua_State* L, int index) {
  if (to_tensor(L, index)) return std::make_shared<TensorObject>(check_tensor(L, index));
  const std::shared_ptr<Object>* object = handle(L, index);
  return object ? *object : nullptr;
}

Object& check_object(lua_State* L, int index, std::string_view type) {
  const std::shared_ptr<Object>* object = handle(L, index);
  if (!object || !*object || (*object)->type_name() != type) {
    throw recipe_error("expected " + with_article(type) + " object, found " + type_text(L, index))
        .hint("methods are called with a colon: " + std::string(type) + ":name(…)");
  }
  return **object;
}

}  // namespace trainlab

// Native objects in Lua: userdata that hold a shared_ptr<Object>, with the methods of the object's type. Tensors have
// userdata of their own (lua_tensor.h), and are TensorObjects here.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/callable.h"

struct lua_State;

namespace trainlab {

// Makes a type known. Pops the table on top of the stack, which becomes the metatable of the type (with __index and
// __tostring as the caller wants them; locking and release are added). Called inside enter(), once for each type.
void define_object_type(lua_State* L, std::string_view type);

// std::logic_error for an unknown type.
void push_object(lua_State* L, const std::shared_ptr<Object>& object);

// nullptr if the value is not an object. Error{recipe} for a released tensor.
std::shared_ptr<Object> to_object(lua_State* L, int index);

// The object, of the given type; Error{recipe} otherwise. Valid as long as the value is on the stack.
Object& check_object(lua_State* L, int index, std::string_view type);
template <class T>
T& check_object(lua_State* L, int index, std::string_view type) {
  return dynamic_cast<T&>(check_object(L, index, type));
}

}  // namespace trainlab

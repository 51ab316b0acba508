// Native objects in Lua: userdata that hold a shared_ptr<Object>, with the methods of the object's type. Tensors have
// userdata of their own (lua_tensor.h), and are TensorObjects here.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/callable.h"

struct lua_State;

namespace trainlab {

// Makes the type known: leaves nothing on the stack and takes the table on its top, the metatable of the type
// (__index, __tostring as wanted; locking and release are added). Inside enter(), once for each type.
void define_object_type(lua_State* L, std::string_view type);

// std::logic_error for an unknown type.
void push_object(lua_State* L, const std::shared_ptr<Object>& object);

// nullptr where the value is no object. Error{recipe} for a tensor that was released.
std::shared_ptr<Object> to_object(lua_State* L, int index);

// The object, of the given type; Error{recipe} otherwise. Valid as long as the value is on the stack.
Object& check_object(lua_State* L, int index, std::string_view type);
template <class T>
T& check_object(lua_State* L, int index, std::string_view type) {
  return dynamic_cast<T&>(check_object(L, index, type));
}

}  // namespace trainlab

#include "artifact_argument.h"

#include <lua.hpp>

#include "core/printable.h"
#include "entry_table.h"
#include "tensor/lua_tensor.h"

namespace trainlab {

std::string name_at(lua_State* L, int index, const char* method) {
  if (lua_type(L, index) != LUA_TSTRING) {
    throw recipe_error("expected a name, found " + type_text(L, index)).in(method);
  }
  std::size_t length = 0;
  const char* bytes = lua_tolstring(L, index, &length);
  std::string name(bytes, length);
  if (!is_name(name)) {
    throw recipe_error("expected a name of 1 to 200 bytes without control characters, found " + Value(name).brief())
        .in(method);
  }
  return name;
}

Logged logged_at(lua_State* L, int index, const char* method) {
  if (lua_type(L, index) == LUA_TNUMBER) return lua_tonumber(L, index);
  if (to_tensor(L, index)) return check_tensor(L, index);
  throw recipe_error("expected a number or a tensor of one element, found " + type_text(L, index))
      .in(std::string(method) + ".value");
}

Artifact artifact_at(lua_State* L, int index, const std::string& name, const char* method) {
  if (lua_type(L, index) == LUA_TSTRING) {
    std::size_t length = 0;
    const char* bytes = lua_tolstring(L, index, &length);
    return std::string(bytes, length);
  }
  try {
    if (to_tensor(L, index)) return artifact_bytes(check_tensor(L, index), name);
    if (lua_istable(L, index) && !entry_of(L, index)) return named_tensors_at(L, index);
    throw recipe_error("expected a text, a tensor or a table of tensors by name, found " + type_text(L, index));
  } catch (Error& error) {
    throw error.in(method);
  }
}

}  // namespace trainlab

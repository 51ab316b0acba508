// lab.no_grad and lab.scope call a function under another condition and restore the previous condition, whether the
// function returns or raises (Lua's errors unwind C++ frames; a test holds LuaJIT to that).
#include <ATen/core/grad_mode.h>

#include <lua.hpp>

#include "bindings/lua_entries.h"
#include "bindings/lua_error.h"
#include "tensor_binding.h"
#include "values/entry_table.h"

namespace trainlab {

namespace {

int check_function(lua_State* L, const char* name) {
  return guarded(L, [&] {
    if (!lua_isfunction(L, 1))
      throw recipe_error("expected a function, found " + type_text(L, 1))
          .in(name)
          .hint(std::string("write ") + name + "(function() … end)");
    return 0;
  });
}

// lab.no_grad(f, …): what f(…) gives, computed without a record for backward.
int l_no_grad(lua_State* L) {
  check_function(L, "lab.no_grad");
  const at::NoGradGuard no_gradients;
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

// Pops the set of tensors that the scope has made.
class Scope {
 public:
  Scope(lua_State* L, TensorBinding& binding)
      : binding_(binding), reference_(binding.scope_reference), count_(binding.scope_count) {
    if (binding.scope_depth == binding.scope_slots.size()) {
      binding.scope_slots.push_back(luaL_ref(L, LUA_REGISTRYINDEX));
    } else {
      lua_rawseti(L, LUA_REGISTRYINDEX, binding.scope_slots[binding.scope_depth]);
    }
    binding.scope_reference = binding.scope_slots[binding.scope_depth++];
    binding.scope_count = 0;
  }
  ~Scope() {
    --binding_.scope_depth;
    binding_.scope_reference = reference_;
    binding_.scope_count = count_;
  }
  Scope(const Scope&) = delete;

 private:
  TensorBinding& binding_;
  const int reference_, count_;
};

// Puts the tensors in the value on top of the stack into the set at `kept`, and takes the value.
void keep(lua_State* L, int kept, int depth) {
  if (to_tensor(L, -1)) {
    lua_pushboolean(L, 1);
    lua_rawset(L, kept);
    return;
  }
  if (lua_istable(L, -1) && depth < 20 && lua_checkstack(L, 4) != 0) {
    const int table = lua_gettop(L);
    lua_pushnil(L);
    while (lua_next(L, table) != 0) keep(L, kept, depth + 1);
  }
  lua_pop(L, 1);
}

// lab.scope(f, …): what f(…) gives; all other tensors that were made meanwhile are released.
int l_scope(lua_State* L) {
  check_function(L, "lab.scope");
  TensorBinding& binding = *LuaState::of(L).tensors;
  lua_newtable(L);  // weak: garbage may be collected before the end
  lua_newtable(L);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_insert(L, 1);
  {
    lua_pushvalue(L, 1);
    const Scope scope(L, binding);
    lua_call(L, lua_gettop(L) - 2, LUA_MULTRET);
  }
  const int last = lua_gettop(L);
  lua_newtable(L);
  const int kept = last + 1;
  luaL_checkstack(L, 10, "too many results");
  for (int i = 2; i <= last; ++i) {
    lua_pushvalue(L, i);
    keep(L, kept, 0);
  }
  lua_pushnil(L);
  while (lua_next(L, 1) != 0) {
    lua_pushvalue(L, -1);
    lua_rawget(L, kept);
    const bool stays = lua_toboolean(L, -1) != 0;
    lua_pop(L, 1);
    at::Tensor* tensor = to_tensor(L, -1);
    if (!stays && tensor) tensor->reset();
    // Returned tensors belong to the enclosing scope.
    if (stays && binding.scope_reference != 0) {
      lua_rawgeti(L, LUA_REGISTRYINDEX, binding.scope_reference);
      lua_pushvalue(L, -2);
      lua_rawseti(L, -2, ++binding.scope_count);
      lua_pop(L, 1);
    }
    lua_pop(L, 1);
  }
  lua_settop(L, last);
  return last - 1;
}

}  // namespace

void open_tensor_scopes(lua_State* L) {
  lua_pushcfunction(L, l_no_grad);
  set_lab_member(L, "no_grad");
  lua_pushcfunction(L, l_scope);
  set_lab_member(L, "scope");
}

}  // namespace trainlab

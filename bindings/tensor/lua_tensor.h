// Tensors in Lua: userdata that hold an at::Tensor, made and looked at quickly, because a hand-written loop makes
// thousands of them a second. To the engine they are TensorObjects (push_object, to_object).
#pragma once

#include <ATen/core/Tensor.h>

#include "bindings/lua_state.h"
#include "tensor/memory.h"
#include "tensor/named_tensors.h"

struct lua_State;

namespace trainlab {

// The run's device (LuaHost::device). Error{usage} when it is not there.
at::Device run_device(const LuaState& state);

// Inside enter(), once: the type "tensor", lab.tensor, lab.ops, lab.no_grad, lab.scope.
void open_tensors(lua_State* L);

// A full collection of Lua's garbage, which Lua would put off: it does not see the bytes of tensors.
void collect_tensors(lua_State* L);

// Error{recipe} if the dtype is an integer type that cannot hold x.
void check_holds(at::ScalarType dtype, double x);

// Pushes a tensor as userdata, nil for an undefined tensor. Collects garbage first if tensors have taken much memory.
void push_tensor(lua_State* L, at::Tensor tensor);

// Runs `f`, which allocates tensors for the recipe. If the recipe's memory is used up, garbage is collected and `f`
// runs once more, unless `once`. LibTorch's errors pass through.
template <class F>
void for_recipe(lua_State* L, bool once, F&& f) {
  const MemoryCharge mine(MemoryUse::script);
  try {
    f();
    return;
  } catch (const ScriptMemoryLimit&) {
    if (once) throw;
  } catch (const TensorMemoryLimit&) {
    if (once) throw;
  }
  collect_tensors(L);
  f();
}

// nullptr if the value is not a tensor. The tensor is undefined once it was released.
at::Tensor* to_tensor(lua_State* L, int index);

// Error{recipe} for another value and for a released tensor. Valid as long as the value is on the stack.
const at::Tensor& check_tensor(lua_State* L, int index);

// A table of tensors by name; an empty one is fine. Error{recipe} names the key of anything else in it.
NamedTensors named_tensors_at(lua_State* L, int index);

}  // namespace trainlab

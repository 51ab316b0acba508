// Tensors in Lua: userdata that hold an at::Tensor, made and looked at quickly, because a hand-written loop makes
// thousands of them a second. To the engine they are TensorObjects (push_object, to_object).
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <deque>
#include <string>
#include <vector>

#include "bindings/lua_state.h"
#include "tensor/memory.h"
#include "tensor/operators.h"
#include "tensor/safetensors.h"

struct lua_State;

namespace trainlab {

class Device;

// The data that a state keeps for its tensors.
struct TensorBinding {
  const void* metatable = nullptr;  // of tensors
  int metatable_reference = 0;
  int shape_reference = 0;  // the metatable of shapes
  int scope_reference = 0;  // the weak table of what the innermost lab.scope has made; 0: none
  int scope_count = 0;
  std::vector<int> scope_slots;     // of the registry, one for each depth of scopes, kept: a function may raise
  std::size_t scope_depth = 0;
  std::vector<const Device*> devices;  // that have held tensors of this state
  std::int64_t collect_at = 0;         // live tensor bytes at which garbage is collected
  OperatorArguments arguments;     // of the call under way; operators do not nest
  std::deque<std::string> others;  // descriptions of arguments of unknown form
  torch::jit::Stack results;
};

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

// The parts of open_tensors; `metatable` and `methods` are stack indices.
void open_tensor_members(lua_State* L, int methods);
void open_tensor_indexing(lua_State* L, int metatable);  // takes the table of methods from the stack
void open_operators(lua_State* L, int metatable);        // lab.ops, arithmetic
void open_tensor_constructors(lua_State* L);             // lab.tensor
void open_tensor_scopes(lua_State* L);                   // lab.no_grad, lab.scope

// Finds t.name if no method of this name is in the table yet. Stack 1 and 2 are the tensor and the name, upvalue 1 the
// methods.
int find_member(lua_State* L);

// Pushes the function that calls an operator.
void push_operator(lua_State* L, const Operator& op);
// Calls an operator with `count` arguments from stack index 1 on, pushes its results and returns their number. Named
// arguments stand in a last table. Called inside guarded().
int call_operator(lua_State* L, const Operator& op, int count);

// Userdata with members that are found without a call: __index is `members`, the table on top of the stack, which is
// replaced by the object. Unknown names go to `missing`, whose second argument is the name.
void make_namespace(lua_State* L, const char* name, int (*missing)(lua_State*), int (*call)(lua_State*));

}  // namespace trainlab

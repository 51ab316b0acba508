// The data that a state keeps for its tensors, and the parts of open_tensors: for the files of this folder alone, all
// others include lua_tensor.h. The stack of LibTorch's operators, which stands here, takes a compiler seconds to read.
#pragma once

#include <ATen/core/stack.h>

#include <deque>
#include <string>
#include <vector>

#include "lua_tensor.h"
#include "tensor/operators.h"

namespace trainlab {

class Device;

// How ranges are written, which Python writes as t[1:3] and t[:, 0].
constexpr const char* range_hint =
    "a range is { from, to }, without `to`: t[{ {1, 3} }]; {} is a whole axis: t[{ {}, 0 }]";

// The data that a state keeps for its tensors.
struct TensorBinding {
  const void* metatable = nullptr;  // of tensors
  int metatable_reference = 0;
  int shape_reference = 0;  // the metatable of shapes
  int scope_reference = 0;  // the weak table of what the innermost lab.scope has made; 0: none
  int scope_count = 0;
  std::vector<int> scope_slots;  // of the registry, one for each depth of scopes, kept: a function may raise
  std::size_t scope_depth = 0;
  std::vector<const Device*> devices;  // that have held tensors of this state
  std::int64_t collect_at = 0;         // live tensor bytes at which garbage is collected
  OperatorArguments arguments;         // of the call under way; operators do not nest
  std::deque<std::string> others;      // descriptions of arguments of unknown form
  torch::jit::Stack results;
};

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

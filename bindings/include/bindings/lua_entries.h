// Constructors: every entry of the registry as a function below `lab`.
//
// lab.nn.Linear(64, { bias = false }) gives a plain Lua table with the options by name, { out = 64, bias = false };
// the elements of an array option stay in the array part. The metatable is locked; tostring gives the constructor form.
// Options are checked when the table is made, so that an error has the line of the call, and again with the whole
// stage: a recipe may have changed the table since.
//
// An entry named "KIND:method" is a method of all entries of that kind: data:split { … } makes an entry whose option
// `source` is the receiver.
#pragma once

#include <string>

#include "bindings/lua_state.h"

namespace trainlab {

// The global `lab` with all constructors of the host's registry and lab.seed. Inside enter(), once.
void open_entries(lua_State* L);

// Adds a member to `lab`: the value on top of the stack, which is taken.
void set_lab_member(lua_State* L, const char* name);

// The checked spec of the stage at `index`; raises Error{recipe} for another value. `who` begins the message: "lab.run
// takes", "a recipe returns".
std::shared_ptr<const Spec> to_stage(lua_State* L, int index, const std::string& who);

// The members of `lab` besides constructors: param, run, seed.
void register_language(Registry& registry);
// lab.tensor, and the fields and methods of tensors. Operators are not entries: there are more than a thousand, which
// are described by rule.
void register_tensors(Registry& registry);

}  // namespace trainlab

// The result of a stage in Lua: a new table with the contents of summary.json. Its methods (model, predict, generate)
// stand in a locked metatable, so that pairs and constructors see the data only.
#pragma once

#include "bindings/stage_result.h"

struct lua_State;

namespace trainlab {

// Inside enter(), once: lab.load_run and the methods.
void open_results(lua_State* L);

void push_result(lua_State* L, StageResult result);
bool is_result(lua_State* L, int index);

}  // namespace trainlab

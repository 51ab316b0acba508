// The object `ctx` of a task (train/task.h).
#pragma once

struct lua_State;

namespace trainlab {

// Inside enter(), once: makes the type known.
void open_tasks(lua_State* L);

}  // namespace trainlab

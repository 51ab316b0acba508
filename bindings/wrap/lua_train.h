// The object `run` of callbacks (train/run_handle.h).
#pragma once

struct lua_State;

namespace trainlab {

// Inside enter(), once: makes the type known.
void open_train(lua_State* L);

}  // namespace trainlab

// lab.recompute.
#pragma once

struct lua_State;

namespace trainlab {

// Inside enter(), once.
void open_recompute(lua_State* L);

}  // namespace trainlab

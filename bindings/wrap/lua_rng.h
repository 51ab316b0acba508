// The object `rng` of a transform (data/rng_object.h).
#pragma once

struct lua_State;

namespace trainlab {

// Inside enter(), once: makes the type known.
void open_rng(lua_State* L);

}  // namespace trainlab

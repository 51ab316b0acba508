// The object `batch` of a recipe's functions (data/batch_object.h).
#pragma once

struct lua_State;

namespace trainlab {

// Inside enter(), once: makes the type known.
void open_batch(lua_State* L);

}  // namespace trainlab

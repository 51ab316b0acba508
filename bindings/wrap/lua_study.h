// lab.study and its trials.
#pragma once

struct lua_State;

namespace trainlab {

// Inside enter(), once.
void open_studies(lua_State* L);

}  // namespace trainlab

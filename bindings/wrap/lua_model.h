// lab.build, lab.optimizer, lab.schedule, and the objects that they return: models, optimizers, schedules.
#pragma once

struct lua_State;

namespace trainlab {

// Inside enter(), once.
void open_models(lua_State* L);

}  // namespace trainlab

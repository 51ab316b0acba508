// lab.build, lab.optimizer, lab.schedule, the objects that they return (models, optimizers, schedules); lab.scale_lr.
#pragma once

struct lua_State;

namespace trainlab {

// Inside enter(), once.
void open_models(lua_State* L);

}  // namespace trainlab

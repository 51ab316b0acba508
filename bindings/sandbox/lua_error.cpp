#include "bindings/lua_error.h"

#include "core/as_error.h"
#include "meter.h"
#include "tensor/types.h"

namespace trainlab {

Error engine_error(const std::exception& exception) {
  const auto* error = dynamic_cast<const c10::Error*>(&exception);
  return error ? torch_error(*error) : as_error(exception);
}

namespace detail {

void caught(LuaState& state, const std::exception& exception) {
  Error error = engine_error(exception);
  const bool ends = dynamic_cast<const ExecutionEnds*>(&exception) != nullptr;
  if (ends) state.set_ended();
  // A recipe must not catch these and go on as if the stage had run.
  if (ends || error.kind() == ErrorKind::interrupted) state.set_doom({error, true});
  state.keep(std::move(error));
}

}  // namespace detail

EngineWork::EngineWork(lua_State* L)
    : state_(LuaState::of(L)), before_(state_.current()), paused_(state_.meter().pause()) {
  state_.set_current(L);
}

EngineWork::~EngineWork() {
  state_.set_current(before_);
  state_.meter().resume(paused_);
  if (done_) state_.meter().restart();
}

}  // namespace trainlab

// The border between C++ exceptions and Lua errors, in both directions, is here and in lua_state.cpp.
//
// A C++ exception must not run into Lua (it would become the bare text "C++ exception"), and a Lua error, which jumps,
// should not meet C++ objects. Each native function that Lua calls is therefore
//
//   int l_name(lua_State* L) { return guarded(L, [&] { …; return number_of_results; }); }
//
// An exception is caught, its message kept in the state, and raised in Lua after the last C++ object is gone. Errors
// that Lua's own functions raise inside the body (out of memory) unwind C++ frames: Debian's LuaJIT does so on x86-64,
// and a test holds it to that.
#pragma once

#include <exception>
#include <optional>

#include "bindings/lua_state.h"

namespace trainlab {

// Any exception as an Error, see core/as_error.h; LibTorch's without its backtrace.
Error engine_error(const std::exception& exception);

namespace detail {
void caught(LuaState& state, const std::exception& exception);
}

template <class Body>
int guarded(lua_State* L, Body&& body) {
  LuaState& state = LuaState::of(L);
  try {
    return body();
  } catch (const std::exception& exception) {
    detail::caught(state, exception);
  }
  state.raise_kept(L);
}

// While this guard exists, the engine works and not the script: the clock of silence stands still, functions of the
// recipe are called on L, and instructions are counted anew afterwards. Cheap operations that a loop could repeat for
// ever, like logging a value, must not use the guard.
class EngineWork {
 public:
  explicit EngineWork(lua_State* L);
  ~EngineWork();
  EngineWork(const EngineWork&) = delete;

  // False: the work was not done, and instructions are not counted anew.
  void set_done(bool done) { done_ = done; }

 private:
  LuaState& state_;
  lua_State* before_;
  bool paused_;
  bool done_ = true;
};

// Raised by the host of lab.run to end the execution of the recipe there, as `check` does.
class ExecutionEnds : public std::exception {
 public:
  const char* what() const noexcept override { return "the execution of the recipe ends here"; }
};

}  // namespace trainlab

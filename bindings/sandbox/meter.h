// Meter: counts what a script uses (memory, instructions, silence) and stops it at the limits.
//
// LuaJIT has no emergency collection, so a refused allocation leaves a heap in which nothing runs any more. Crossing
// the memory limit is therefore granted, and the next instruction collects the garbage and raises if too much is left.
// Only a single large request beyond the limit, or a request beyond the far ceiling, is refused.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "bindings/lua_state.h"

struct lua_Debug;

namespace trainlab {

class Meter {
 public:
  Meter(LuaState& state, const LuaLimits& limits);

  // lua_Alloc; its user data is the LuaState.
  static void* allocate(void* state, void* pointer, std::size_t before, std::size_t after);
  void attach(lua_State* L);  // installs the hook
  void detach() { main_ = nullptr; }

  // The counters of a call, which are restored for its caller when the call ends.
  struct Saved {
    std::int64_t executed;
    std::int64_t heard;
  };
  Saved begin();
  void end(Saved saved);
  // Called when native code that did work has returned: instructions are counted anew.
  void restart() { executed_ = 0; }

  // The clock of silence. heard() when a script begins to run or shows that it lives; pause() while the engine works.
  void heard();
  std::int64_t pause() { return heard_.exchange(0); }
  void resume(std::int64_t paused) {
    if (paused != 0) heard();
  }
  // For the watchdog, from any thread: seconds since the last sign; 0 while no script runs.
  double silent_seconds() const;
  LuaPosition last_position() const;
  // Remembers where the script is before a library function that may take long.
  void note(lua_State* L);

  // The hook runs at every instruction of a doomed script, and rarely otherwise.
  void watch_closely(bool closely);

  // After a call at the outermost level: drops garbage that stands above the limit.
  void collect_garbage();
  std::int64_t memory_used() const { return used_; }
  const LuaPosition& refused_at() const { return refused_at_; }
  Error memory_error() const;
  // While this guard exists, allocations are granted: the collector and the closing of a state need some.
  void set_unlimited(bool unlimited) { unlimited_ = unlimited; }

 private:
  static void hook(lua_State* L, lua_Debug* ar);
  void on_hook(lua_State* L);
  void over_memory(lua_State* L);
  void* reallocate(void* pointer, std::size_t before, std::size_t after);

  LuaState& state_;
  const LuaLimits& limits_;
  lua_State* main_ = nullptr;
  std::int64_t used_ = 0;
  std::int64_t executed_ = 0;
  int interval_ = 0;
  bool over_ = false;  // the limit was crossed since the last look
  bool unlimited_ = false;
  LuaPosition refused_at_;
  std::atomic<std::int64_t> heard_{0};  // ns; 0: the clock stands
  mutable std::mutex position_mutex_;
  LuaPosition position_;
};

}  // namespace trainlab

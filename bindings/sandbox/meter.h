// Meter: counts what a script uses (memory, instructions, silence) and stops it at the limits.
//
// LuaJIT has no emergency collection, so a refused allocation leaves a heap in which nothing runs any more. Crossing
// the memory limit is therefore granted, and the next instruction collects the garbage and raises if too much is left.
// Only a single large request beyond the limit, or a request beyond the far ceiling, is refused.
#pragma once

#include <pthread.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>
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
    bool runs;
  };
  Saved begin();
  void end(Saved saved);
  // Called when native code that did work has returned: instructions are counted anew.
  void restart() { executed_ = 0; }

  // Signs of life: a script begins to run, an operator begins or ends, the engine works for the script (pause) or has
  // done so (resume). Whether the script runs is part of the sign; what Lua itself does is none.
  bool runs() const { return is_running(signs_.load(std::memory_order_relaxed)); }
  bool pause() {
    const bool before = runs();
    sign(false);
    return before;
  }
  void resume(bool before) { sign(before); }
  // While an operator works for L; nullptr: it has ended.
  void operate(lua_State* L) {
    operating_.store(L, std::memory_order_relaxed);
    sign(runs());
  }

  // For the watchdog, from any thread while the state lives. The last sign, another number each time.
  std::uint64_t last_sign() const { return signs_.load(std::memory_order_relaxed); }
  static bool is_running(std::uint64_t sign) { return (sign & 1) != 0; }
  // Seconds of the processor, spent by the state's thread: a process that is stopped or has to wait ages no script.
  double seconds_used() const;
  // The script was silent since this sign: the next instruction raises. The thread of the script is interrupted by a
  // signal (SIGURG), because LuaJIT allows no other thread to change the hook.
  void interrupt(std::uint64_t since);
  // Where a script stands that an interruption does not reach, because it is inside one function that is not Lua's.
  LuaPosition position_inside() const;
  bool operates() const { return operating_.load(std::memory_order_relaxed) != nullptr; }

  // Remembers where the script is before a library function that may take long.
  void note(lua_State* L);

  // The hook runs at every instruction of a doomed script, and rarely otherwise.
  void watch_closely(bool closely);

  // After a call at the outermost level: drops garbage that stands above the limit.
  void collect_garbage();
  const LuaPosition& refused_at() const { return refused_at_; }
  Error memory_error() const;
  // While this guard exists, allocations are granted: the collector and the closing of a state need some.
  void set_unlimited(bool unlimited) { unlimited_ = unlimited; }

 private:
  static void on_interruption(int signal, siginfo_t* info, void* context);
  static void hook(lua_State* L, lua_Debug* ar);
  void on_hook(lua_State* L);
  void over_memory(lua_State* L);
  void sign(bool runs) {
    signs_.store(((last_sign() | 1) + 1) | (runs ? 1 : 0), std::memory_order_relaxed);  // one thread writes
  }
  void* reallocate(void* pointer, std::size_t before, std::size_t after);

  LuaState& state_;
  const LuaLimits& limits_;
  lua_State* main_ = nullptr;
  std::int64_t used_ = 0;
  std::int64_t executed_ = 0;
  bool over_ = false;  // the limit was crossed since the last look
  bool unlimited_ = false;
  LuaPosition refused_at_;
  const pthread_t thread_ = pthread_self();
  clockid_t thread_clock_{};
  std::atomic<std::uint64_t> signs_{2};  // never 0, and even: nothing runs yet
  std::atomic<std::uint64_t> late_{0};   // the sign since which the script is silent; 0: not so
  std::atomic<lua_State*> operating_{nullptr};
  mutable std::mutex position_mutex_;
  LuaPosition position_;
};

}  // namespace trainlab

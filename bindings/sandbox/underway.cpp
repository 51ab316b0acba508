#include "underway.h"

#include <array>
#include <csignal>
#include <cstring>
#include <lua.hpp>

#include "bindings/note_crashes.h"
#include "run/last_note.h"
#include "tensor/script_memory.h"

namespace trainlab {

namespace {

// The handler is gone by now: the signal ends the process, with this signal's status, when the handler returns.
void note_and_die(int signal) {
  Underway::note();
  std::raise(signal);
}

// The innermost line of a recipe or module: ar.source + 1 is its file, ar.currentline its number. False: there is none.
// Allocates nothing, because handlers of signals call this.
bool script_line(lua_State* L, lua_Debug& ar) {
  for (int level = 0; lua_getstack(L, level, &ar) != 0; ++level) {
    lua_getinfo(L, "Sl", &ar);
    if (ar.currentline > 0 && ar.source[0] == '@') return true;
  }
  return false;
}

}  // namespace

void Underway::note() {
  lua_State* const script = script_.load(std::memory_order_relaxed);
  if (!script) return;
  const char* const name = name_.load(std::memory_order_relaxed);
  std::array<char, 128> operation{};
  if (std::strchr(name, ':') == nullptr) std::strcpy(operation.data(), "lab.ops.");
  std::strncat(operation.data(), name, operation.size() - sizeof("lab.ops."));
  lua_Debug ar;
  const bool known = script_line(script, ar);
  noted_.store(true, std::memory_order_relaxed);
  write_last_note(operation.data(), known ? ar.source + 1 : "", known ? ar.currentline : 0);
}

void Underway::forget() {
  noted_.store(false, std::memory_order_relaxed);
  clear_last_note();
}

void note_crashes() {
  on_large_script_memory(Underway::note);
  // A stack that has overflowed has no room for a handler.
  static std::array<char, std::size_t{64} << 10> stack;
  const stack_t own{.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  ::sigaltstack(&own, nullptr);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    struct sigaction action = {};
    ::sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_DFL) continue;  // a sanitizer's, which says more
    action.sa_handler = note_and_die;
    action.sa_flags = SA_ONSTACK | static_cast<int>(SA_RESETHAND);
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace trainlab

// The operator that a script has under way, for the message about an engine that dies in the operator.
#pragma once

#include <atomic>

struct lua_State;

namespace trainlab {

// While this guard exists, the script waits for the operator of this name, or for other work ("tensor:backward"). The
// guard only stores two pointers, because every operator holds one. One thread executes recipes.
class Underway {
 public:
  Underway(lua_State* L, const char* name)
      : script_before_(script_.load(std::memory_order_relaxed)), name_before_(name_.load(std::memory_order_relaxed)) {
    name_.store(name, std::memory_order_relaxed);
    script_.store(L, std::memory_order_relaxed);
  }
  ~Underway() {
    script_.store(script_before_, std::memory_order_relaxed);
    name_.store(name_before_, std::memory_order_relaxed);
    if (noted_.load(std::memory_order_relaxed)) forget();
  }
  Underway(const Underway&) = delete;

  // Tells the supervisor of the innermost guard, if there is one (run/last_note.h). For handlers of signals too.
  static void note();

 private:
  static void forget();

  static inline std::atomic<lua_State*> script_{nullptr};
  static inline std::atomic<const char*> name_{nullptr};  // of an operator, or "tensor:backward"
  static inline std::atomic<bool> noted_{false};
  lua_State* const script_before_;
  const char* const name_before_;
};

}  // namespace trainlab

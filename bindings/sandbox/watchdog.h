// Watchdog: a thread that notices when a script shows no sign of life for too long. The script is interrupted at its
// next instruction. Where there comes none, inside a library function (a string pattern of exponential time) or one
// operator on giant tensors, the host is told after some grace, and ends the process.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "bindings/lua_state.h"

namespace trainlab {

class Watchdog {
 public:
  Watchdog(Meter& meter, const LuaLimits& limits, std::function<void(const Error&)> silent);
  ~Watchdog();

 private:
  void watch();
  Error silence() const;

  Meter& meter_;
  const LuaLimits& limits_;
  const std::function<void(const Error&)> silent_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::thread thread_;
};

}  // namespace trainlab

// Watchdog: a thread that notices when a script shows no sign of life, inside a library function that no hook can
// interrupt (a string pattern of exponential time), and tells the host, which ends the process.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "bindings/lua_state.h"

namespace trainlab {

class Watchdog {
 public:
  Watchdog(const Meter& meter, double limit, std::function<void(const Error&)> silent);
  ~Watchdog();

 private:
  void watch();

  const Meter& meter_;
  const double limit_;
  const std::function<void(const Error&)> silent_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::thread thread_;
};

}  // namespace trainlab

#include "watchdog.h"

#include <algorithm>
#include <chrono>

#include "meter.h"

namespace trainlab {

Watchdog::Watchdog(const Meter& meter, double limit, std::function<void(const Error&)> silent)
    : meter_(meter), limit_(limit), silent_(std::move(silent)), thread_([this] { watch(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

void Watchdog::watch() {
  const std::chrono::duration<double> pause(std::min(1.0, limit_ / 4));
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, pause, [this] { return end_; })) {
    if (meter_.silent_seconds() <= limit_) continue;
    Error error = recipe_error("no answer for " + number_text(limit_) + " s");
    const LuaPosition last = meter_.last_position();
    if (last.line > 0) error.at(last.file, last.line);
    error.hint("string patterns with many of * + - ? can take exponential time on long text");
    silent_(error);
    return;
  }
}

}  // namespace trainlab

#include "watchdog.h"

#include <algorithm>
#include <chrono>

#include "meter.h"

namespace trainlab {

Watchdog::Watchdog(Meter& meter, const LuaLimits& limits, std::function<void(const Error&)> silent)
    : meter_(meter), limits_(limits), silent_(std::move(silent)), thread_([this] { watch(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

void Watchdog::watch() {
  const std::chrono::duration<double> pause(std::clamp(limits_.silence / 4, 0.01, 1.0));
  std::uint64_t sign = meter_.last_sign();
  double since = meter_.seconds_used();
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, pause, [this] { return end_; })) {
    const std::uint64_t now = meter_.last_sign();
    const double used = meter_.seconds_used();
    if (now != sign || !Meter::is_running(now)) {
      sign = now;
      since = used;
    } else if (used - since > limits_.silence + limits_.grace) {
      silent_(silence());
      return;
    } else if (used - since > limits_.silence) {
      meter_.interrupt(sign);
    }
  }
}

Error Watchdog::silence() const {
  Error error = recipe_error("no answer for " + number_text(limits_.silence) + " s (--silence), nor in the " +
                             number_text(limits_.grace) + " s of --grace after that");
  const LuaPosition here = meter_.position_inside();
  if (here.line > 0) error.at(here.file, here.line);
  return error.hint(meter_.operates()
                        ? "a single operator took that long; smaller tensors, or a longer --silence, let it end"
                        : "string patterns with many of * + - ? can take exponential time on long text");
}

}  // namespace trainlab

// Runs a stage that is shorter than its measurement again and again. Private to the room.
#pragma once

#include <algorithm>
#include <cstdint>

namespace trainlab {

// Calls `run`, which runs the stage once, until the listener has heard enough steps or a run adds none. A listener has
// is_done(); measured(), the steps that it has measured; run_began(); and lower_cold(), which lets fewer steps of a run
// be cold ones and is called after runs that had no others: false where none would be left to measure.
void run_until_measured(auto& listener, const auto& run) {
  std::int64_t before = -1;
  while (!listener.is_done() && listener.measured() > before) {
    before = listener.measured();
    listener.run_began();
    run();
    if (listener.measured() == 0 && listener.lower_cold()) before = -1;
  }
}

// How many steps at the beginning of a fit of `total` steps, 0 if unknown, are cold: a quarter of the fit at most, so
// that a short fit has steps to measure. The first step, before which the fit begins, is no evidence in any fit.
inline std::int64_t cold_steps_of(std::int64_t total, std::int64_t most) {
  return total > 0 ? std::min(most, std::max<std::int64_t>(total / 4, 1)) : most;
}

}  // namespace trainlab

#include "taken_cores.h"

#include <fmt/format.h>

#include <algorithm>

namespace trainlab {

namespace {

// Parts of the usable cores: from `full` on, none is left. Up to `usual`, other work is that of a quiet machine.
constexpr double full = 0.95, usual = 0.05;

}  // namespace

std::string taken_cores(const Value& cores) {
  for (const char* name : {"busy", "others", "usable"})
    if (!cores[name].is_number()) return "";
  const double others = cores["others"].number(), usable = cores["usable"].number();
  if (cores["busy"].number() + others < full * usable) return "";
  if (others <= std::max(usual * usable, largest_core_error)) return "";
  // Work on a core that the measurement did not want has taken nothing from it.
  if (cores["run_queue"].is_number() && cores["run_queue"].number() < quiet_wait) return "";
  return fmt::format("{:.1f} of {:.0f} cores", others, usable);
}

}  // namespace trainlab

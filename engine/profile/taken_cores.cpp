#include "taken_cores.h"

#include <fmt/format.h>

namespace trainlab {

namespace {

// Parts of the usable cores: from `full` on, none is left. Below `usual`, other work is that of a quiet machine.
constexpr double full = 0.95, usual = 0.05;

}  // namespace

std::string taken_cores(const Value& cores) {
  for (const char* name : {"busy", "others", "usable"})
    if (!cores[name].is_number()) return "";
  const double others = cores["others"].number(), usable = cores["usable"].number();
  if (cores["busy"].number() + others < full * usable || others < usual * usable) return "";
  return fmt::format("{:.1f} of {:.0f} cores", others, usable);
}

}  // namespace trainlab

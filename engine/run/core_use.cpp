#include "run/core_use.h"

#include <unistd.h>

#include <algorithm>

#include "allowed_cores.h"
#include "core_times.h"
#include "run/run.h"

namespace trainlab {

std::optional<CoreSeconds> core_seconds() { return core_seconds_in("/proc", ::getpid(), allowed_cores()); }

CoreUse core_use(const CoreSeconds& had, double seconds) {
  const double usable = usable_cores();
  const double beyond = static_cast<double>(allowed_cores().size()) - usable;
  return {.run = had.run / seconds, .others = std::clamp(had.others / seconds - beyond, 0.0, usable), .usable = usable};
}

std::optional<WaitReasons> reasons_of_wait(double waited, const CoreUse& use) {
  if (use.run + use.others < waited * use.usable) return std::nullopt;
  const double others = use.others / use.usable;
  const double own = others < 1 ? std::clamp(1 - (1 - waited) / (1 - others), 0.0, waited) : 0;
  return WaitReasons{.for_others = waited - own, .for_own = own};
}

}  // namespace trainlab

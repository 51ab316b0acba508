#include "speed_words.h"

#include <fmt/format.h>

#include "run/run.h"

namespace trainlab {

SpeedWords with_workers(SpeedWords words, const StudyPlan& plan) {
  const int cores = usable_cores();
  if (plan.workers() > cores) {
    words.cores =
        fmt::format("the {} workers of the stage share {} core{}", plan.workers(), cores, cores > 1 ? "s" : "");
    words.on_cores = "";
  }
  return words;
}

}  // namespace trainlab

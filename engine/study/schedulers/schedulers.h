// What the schedulers of this module share. Each stands with its entry in a file of its own.
#pragma once

#include <vector>

#include "study/scheduler.h"

namespace trainlab {

// Whether the trials first … last − 1 have all ended.
bool have_ended(const Trials& trials, std::int64_t first, std::int64_t last);

// The value of a trial that has ended, smaller is better; infinite unless the trial is complete.
double loss_of(const Curves& trials, std::int64_t trial);

// The trials first … last − 1, which have ended: the best first, the earlier of equal trials first.
std::vector<std::int64_t> ranking(const Curves& trials, std::int64_t first, std::int64_t last);

}  // namespace trainlab

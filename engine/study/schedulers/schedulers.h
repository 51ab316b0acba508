// Shared by the schedulers of this module. Each stands with its entry in a file of its own.
#pragma once

#include <vector>

#include "study/scheduler.h"

namespace trainlab {

// Whether the trials first … last − 1 have all ended.
bool have_ended(const Trials& trials, std::int64_t first, std::int64_t last);

// The value of a trial that has ended, and what the trial reported last; smaller is better, infinite unless the trial
// is complete.
double loss_of(const Curves& trials, std::int64_t trial);
double last_loss_of(const Curves& trials, std::int64_t trial);
using LossOf = double (*)(const Curves& trials, std::int64_t trial);

// Trials that have ended: the best first, the earlier of equal trials first. The second form takes first … last − 1.
std::vector<std::int64_t> ranking(const Curves& trials, std::vector<std::int64_t> numbers, LossOf loss = loss_of);
std::vector<std::int64_t> ranking(const Curves& trials, std::int64_t first, std::int64_t last, LossOf loss = loss_of);

// Scheduler::inherit of a configuration that trains on as it is.
void keep_parameters(const Space& space, std::span<const double> parent, std::span<double> point);

// Options of schedulers with rungs; see rung_lengths().
Option scheduler_min_option(const char* doc);
Option scheduler_max_option();
Option scheduler_reduction_option();

}  // namespace trainlab

// The common part of what trainings in several sizes, each with a few seeds, have found.
#pragma once

#include <cstddef>
#include <string>

#include "core/value.h"

namespace trainlab {

struct SeededFindings {
  std::string metric;  // the metric that the fit monitors
  bool minimize = true;
  std::size_t seeds = 0;  // with a value for every size
  int failed = 0;         // seeds that are left out, because the metric was not finite for a size
  double seconds = 0;     // of all trainings
};

// The last lines of a text: failed seeds, and the seconds.
std::string last_lines(const SeededFindings& found);
// { metric, goal = "min" | "max", seeds, failed, seconds }
Value to_value(const SeededFindings& found);

}  // namespace trainlab

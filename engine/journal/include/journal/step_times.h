// StepTimes: how long steps took, as counts of steps in bins of their time, so that the times of several trainings can
// be put together.
#pragma once

#include <cstdint>
#include <vector>

#include "core/value.h"

namespace trainlab {

// Times are in seconds. Bins have borders that are 2 % apart, from a microsecond to a day; a time outside of these
// counts in the first or the last bin.
class StepTimes {
 public:
  StepTimes();

  void count(double seconds);
  void add(const StepTimes& other);
  std::int64_t steps() const { return steps_; }
  // The time that the share `share` of the steps did not exceed, to 1 %. At least one step was counted.
  double quantile(double share) const;

  // The bins that have steps, as "BIN:STEPS BIN:STEPS": a text, because a list takes a line for each number where a
  // summary is printed.
  Value to_value() const;
  // Adds such bins. Text of another form adds nothing from the place on where the form ends.
  void add(const Value& bins);

 private:
  std::vector<std::uint64_t> bins_;
  std::int64_t steps_ = 0;
};

}  // namespace trainlab

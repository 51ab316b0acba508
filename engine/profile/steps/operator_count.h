// Counts LibTorch's operators, by its internal interface RecordFunction. Private to the room.
#pragma once

#include <array>
#include <memory>

#include "profile/steps.h"

namespace trainlab {

// While the object lives, the operators that this thread calls are added to `tally`, to the element of the phase that
// `phase` has at the call; both outlive the object. Each operator then takes about a microsecond longer. A thread has
// one such object at a time.
class OperatorCount {
 public:
  OperatorCount(const Phase& phase, std::array<OperatorFigures, phase_count>& tally);
  ~OperatorCount();
  OperatorCount(const OperatorCount&) = delete;
  OperatorCount& operator=(const OperatorCount&) = delete;

 private:
  struct Tally;
  static thread_local Tally* current;
  std::unique_ptr<Tally> tally_;
  std::uint64_t handle_;
};

// Seconds of one call of an operator, as OperatorCount counts calls. They are measured in forward and backward passes
// over single numbers, so that nearly all of the time is that of the calls themselves. The result is the fastest of
// some short series, because other work on the machine only adds time.
double seconds_of_a_call();

}  // namespace trainlab

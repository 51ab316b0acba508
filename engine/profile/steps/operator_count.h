// Counts LibTorch's operators, by its internal interface RecordFunction. Private to the room.
#pragma once

#include <array>
#include <memory>

#include "profile/steps.h"

namespace trainlab {

// While the object lives, operators that this thread calls are added to `tally`, in the place of the phase that `phase`
// says at the call; both outlive the object. Each operator then takes about a microsecond longer. One at a time on a
// thread.
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

// Seconds of a call of an operator, as OperatorCount counts calls, in forward and backward passes whose arithmetic is
// single numbers: the cost of the calls themselves. The fastest of some short series, because other work only adds.
double seconds_of_a_call();

}  // namespace trainlab

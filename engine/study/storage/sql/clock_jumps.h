// ClockJumps: notices that the wall clock was set forward, or that the machine slept, while this process lived.
#pragma once

#include "study/lease_keeper.h"

namespace trainlab {

class ClockJumps {
 public:
  // Readings of the two clocks.
  ClockJumps(double wall, double steady) : wall_(wall), steady_(steady) {}

  // Seconds by which the wall clock has jumped forward of late: others may not have renewed their leases since.
  double recent(double wall, double steady) {
    const double jump = (wall - wall_) - (steady - steady_);
    wall_ = wall;
    steady_ = steady;
    if (steady > until_) recent_ = 0;
    if (jump > least) {
      recent_ += jump;
      until_ = steady + 3 * LeaseKeeper::renewal_seconds;
    }
    return recent_;
  }

 private:
  static constexpr double least = 1;  // less is what the machine took between two readings

  double wall_, steady_;
  double recent_ = 0, until_ = 0;
};

}  // namespace trainlab

#include "trial_time.h"

#include <algorithm>
#include <cmath>

namespace trainlab {

namespace {

// The next larger number that is easy to read and to type.
double rounded_up(double seconds) {
  const double unit = seconds <= 10 ? 1 : seconds <= 100 ? 5 : seconds <= 600 ? 10 : 60;
  return unit * std::ceil(seconds / unit);
}

}  // namespace

double enough_seconds(const TrialTimes& times) {
  constexpr double spare = 1.25;  // trials vary with the machine, and too much is better than too little
  constexpr double most = 0.5;    // the part of the seconds that the steps, the layers and the rest may take
  // Some of the time before the trials grows with the seconds: none of it faster than it has until now.
  const double growing = std::min(most, times.before / times.seconds);
  const double needed =
      (times.before - growing * times.seconds + spare * (times.tried + times.missing)) / (1 - growing);
  return rounded_up(std::max(needed, std::floor(times.seconds) + 1));
}

}  // namespace trainlab

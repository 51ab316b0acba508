// The time that the seconds of a profile leave for trials of remedies. Private to the room.
#pragma once

#include <string>
#include <vector>

#include "core/clock.h"
#include "profile/remedies.h"

namespace trainlab {

class TrialTime {
 public:
  // The trials begin now.
  explicit TrialTime(const ProfileOptions& options) : options_(options), before_(steady_seconds() - options.began) {}

  double left() const { return options_.began + options_.seconds - steady_seconds(); }
  // Whether time is left for trials that are expected to take `expected` seconds, at the pace of those until now.
  bool has(double expected) const { return left() > expected * pace(); }

  // A trial took `seconds`, and was expected to take `expected`.
  void took(double seconds, double expected) { paces_.push_back(seconds / expected); }

  // The seconds that try all changes. `missing`: the seconds that the untried ones are expected to take.
  // `longer`: the seconds that all trials may take beyond that, because short runs are longer under a longer limit.
  double enough(double missing, double longer) const {
    return enough_seconds({.seconds = options_.seconds,
                           .before = before_,
                           .tried = steady_seconds() - options_.began - before_,
                           .missing = missing * pace() + longer});
  }

 private:
  // The seconds of a trial relative to those expected: the median, which a disturbed trial does not move.
  double pace() const { return paces_.empty() ? 1 : median(paces_); }

  const ProfileOptions& options_;
  const double before_;
  std::vector<double> paces_;
};

}  // namespace trainlab

// Clocks. Durations come from the steady clock. The wall clock, which may be set at any time, is for file names and
// logs, and for what processes of several machines tell each other.
#pragma once

#include <string>

namespace trainlab {

double steady_seconds();  // since an origin that all processes share until the machine starts anew; monotonic
double wall_seconds();    // since 1970-01-01 UTC
std::string wall_text();  // now, "2026-03-01T12:00:00Z"
std::string wall_text(double wall_seconds);

// A moment that one process writes down for another.
struct Moment {
  double wall = 0, steady = 0;
  std::string boot;  // the start of the machine of whose steady clock this is; empty: unknown
};
Moment present_moment();
// By the steady clock where both moments are of the same start of a machine, else by the wall clock.
double seconds_between(const Moment& from, const Moment& to);

}  // namespace trainlab

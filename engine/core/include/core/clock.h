// Clocks. Durations of work come from steady_seconds; only file names and logs use the wall clock.
#pragma once

#include <string>

namespace trainlab {

double steady_seconds();  // since an arbitrary origin, monotonic
double wall_seconds();    // since 1970-01-01 UTC
std::string wall_text();  // now, "2026-03-01T12:00:00Z"
std::string wall_text(double wall_seconds);

}  // namespace trainlab

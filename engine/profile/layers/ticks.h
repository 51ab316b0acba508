// A clock for times that are taken a hundred times a step. Private to the room.
#pragma once

#include <cstdint>

#ifdef __x86_64__
#include <x86intrin.h>
#else
#include <chrono>
#endif

namespace trainlab {

// Counts evenly, in units of a length that the caller finds out. Reading the processor's counter, from which the
// kernel usually makes its own clock, takes a third of the time that steady_seconds() takes.
inline std::uint64_t ticks() {
#ifdef __x86_64__
  return __rdtsc();
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

}  // namespace trainlab

// Measures two things in turns. Private to the room.
#pragma once

#include <algorithm>
#include <cstdint>

namespace trainlab {

// Measures A B B A `rounds` times, and hands over each pair of neighbours, so that a machine that slows down or is
// disturbed for a while favours neither A nor B. `first` and `second` measure once each, `pair` takes both results.
void in_turns(std::int64_t rounds, const auto& first, const auto& second, const auto& pair) {
  for (std::int64_t i = 0; i < rounds; ++i) {
    const auto a = first();
    const auto b = second();
    pair(a, b);
    const auto b_again = second();
    const auto a_again = first();
    pair(a_again, b_again);
  }
}

// The seconds of one of the short runs that take turns: eight steps, some of them cold, and a quarter of a second at
// least. `step`: seconds.
inline double short_run_seconds(double step) { return std::max(0.25, 8 * step); }

}  // namespace trainlab

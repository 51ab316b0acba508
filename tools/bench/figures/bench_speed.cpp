// What the figures that every run keeps of its speed cost in a step: the meter as a whole, and the latest steps that
// `trainlab profile --attach` can tell of.
//
//   bench_speed    prints {"meter_ns", "recent_ns"}: medians of the nanoseconds of a call. Between two calls the caches
//                  are filled with other data, as a training step does; the reading of the clock is left out.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "journal/speed.h"

using namespace trainlab;

namespace {

constexpr int calls = 4000;

using Clock = std::chrono::steady_clock;

// The median of the nanoseconds of a call.
template <class Call>
double median_of(const Call& call) {
  std::vector<char> data(8 << 20);
  std::vector<double> times;
  for (int i = 0; i < calls; ++i) {
    for (std::size_t at = 0; at < data.size(); at += 64) ++data[at];
    const auto begin = Clock::now();
    call(static_cast<double>(i));
    times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count());
  }
  std::ranges::nth_element(times, times.begin() + calls / 2);
  return times[calls / 2];
}

}  // namespace

int main() {
  SpeedMeter meter([] { return std::optional<double>(); });
  SpeedTotal total(nullptr, {});
  meter.begin(0, total);
  const double nothing = median_of([](double) {});
  const double metered =
      median_of([&](double time) { meter.stepped(1e-3 * time, 1e-3 * time + 1e-5, 1e-3 * time + 1e-3, 64); });
  const double kept = median_of([&](double time) { recent_work().add({.begin = time, .end = time + 1}); });
  std::printf("{\"meter_ns\": %.0f, \"recent_ns\": %.0f}\n", metered - nothing, kept - nothing);
  return 0;
}

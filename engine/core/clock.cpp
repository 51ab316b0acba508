#include "core/clock.h"

#include <array>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>

namespace trainlab {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string wall_text() { return wall_text(wall_seconds()); }

std::string wall_text(double wall_seconds) {
  const std::time_t whole = static_cast<std::time_t>(std::floor(wall_seconds));
  std::tm utc{};
  gmtime_r(&whole, &utc);
  std::array<char, 32> text;
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

Moment present_moment() {
  static const std::string boot = [] {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    std::getline(file, id);
    return id;
  }();
  return {.wall = wall_seconds(), .steady = steady_seconds(), .boot = boot};
}

double seconds_between(const Moment& from, const Moment& to) {
  return !from.boot.empty() && from.boot == to.boot ? to.steady - from.steady : to.wall - from.wall;
}

}  // namespace trainlab

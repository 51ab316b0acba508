// The energy that the processors of the machine take, where the system counts it and lets the process read it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace trainlab {

// Reads Linux's counters of whole processor packages (RAPL), which count all that runs on them; memory and GPUs are not
// in them. Begins to count when it is made. A counter begins anew after some minutes at the least, at a number that the
// system names: two readings may lie on both sides of one such place.
class EnergyMeter {
 public:
  explicit EnergyMeter(const std::filesystem::path& zones = "/sys/class/powercap");

  // The energy since the beginning, in joules; nullopt where no package can be read.
  std::optional<double> joules() const;

 private:
  struct Counter {
    std::filesystem::path file;
    std::int64_t range = 0;  // largest number before the counter begins anew, in microjoules
    std::int64_t begun = 0;
  };
  std::vector<Counter> counters_;
};

}  // namespace trainlab

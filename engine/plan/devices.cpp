#include <algorithm>
#include <array>

#include "core/words.h"
#include "plan/prices.h"

namespace trainlab {

namespace {

struct DevicePeak {
  std::string_view name;
  double peak;
};

// The dense peaks in FLOP/s. Makers also print numbers twice as high, for weights of which half are zero.
constexpr std::array<DevicePeak, 8> peaks = {{{"A100", 312e12},
                                              {"B200", 2250e12},
                                              {"H100 NVL", 835e12},
                                              {"H100 PCIe", 756e12},
                                              {"H100 SXM", 989e12},
                                              {"H200", 989e12},
                                              {"L40S", 362e12},
                                              {"MI300X", 1300e12}}};

char small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::optional<double> known_peak(std::string_view device) {
  for (const DevicePeak& one : peaks) {
    if (std::ranges::equal(one.name, device, {}, small, small)) return one.peak;
  }
  return std::nullopt;
}

std::string devices_with_known_peak() { return joined(peaks, ", ", &DevicePeak::name); }

}  // namespace trainlab

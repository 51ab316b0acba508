#include "plan/energy.h"

#include <fstream>
#include <string>
#include <system_error>

namespace trainlab {
namespace {

// nullopt where there is no such file, where only the administrator may read it, and where it holds something else.
std::optional<std::int64_t> counted_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::int64_t number = 0;
  if (in >> number && number >= 0) return number;
  return std::nullopt;
}

// Whether a zone is a whole package. The count of a package includes its cores; that of the platform includes packages.
bool is_package(const std::filesystem::path& zone) {
  std::ifstream in(zone / "name");
  std::string name;
  std::getline(in, name);
  return name.starts_with("package");
}

}  // namespace

EnergyMeter::EnergyMeter(const std::filesystem::path& zones) {
  std::error_code problem;
  for (const auto& zone : std::filesystem::directory_iterator(zones, problem)) {
    // The older way to read a counter (intel-rapl-mmio) may be listed beside the usual one, for the same package.
    if (!zone.path().filename().string().starts_with("intel-rapl:") || !is_package(zone.path())) continue;
    const auto begun = counted_in(zone.path() / "energy_uj"), range = counted_in(zone.path() / "max_energy_range_uj");
    if (begun && range) counters_.push_back({.file = zone.path() / "energy_uj", .range = *range, .begun = *begun});
  }
}

std::optional<double> EnergyMeter::joules() const {
  if (counters_.empty()) return std::nullopt;
  double sum = 0;
  for (const Counter& counter : counters_) {
    const std::optional<std::int64_t> now = counted_in(counter.file);
    if (!now) return std::nullopt;
    const std::int64_t counted = *now - counter.begun;
    sum += 1e-6 * static_cast<double>(counted >= 0 ? counted : counted + counter.range);
  }
  return sum;
}

}  // namespace trainlab

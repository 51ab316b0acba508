#include <algorithm>

#include "study/pruner.h"

namespace trainlab {

std::optional<double> Curves::at(std::int64_t trial, std::int64_t resource) const {
  double sum = 0;
  std::int64_t count = 0;
  for (const TrialReport& report : trials_.reports(trial)) {
    if (report.resource != resource) continue;
    sum += oriented(report.value);
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

std::int64_t Curves::last_resource(std::int64_t trial) const {
  const auto& reports = trials_.reports(trial);
  return reports.empty() ? 0 : reports.back().resource;
}

}  // namespace trainlab

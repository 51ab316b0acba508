#include "journal/step_times.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

namespace trainlab {
namespace {

constexpr double shortest = 1e-6, longest = 86'400;
const double per_bin = std::log(1.02);
const auto bin_count = static_cast<std::size_t>(std::ceil(std::log(longest / shortest) / per_bin)) + 1;

}  // namespace

StepTimes::StepTimes() : bins_(bin_count, 0) {}

void StepTimes::count(double seconds) {
  const double bin = std::log(std::clamp(seconds, shortest, longest) / shortest) / per_bin;
  bins_[static_cast<std::size_t>(bin)] += 1;
  steps_ += 1;
}

void StepTimes::add(const StepTimes& other) {
  for (std::size_t bin = 0; bin < bins_.size(); ++bin) bins_[bin] += other.bins_[bin];
  steps_ += other.steps_;
}

double StepTimes::quantile(double share) const {
  const double wanted = share * static_cast<double>(steps_);
  double below = 0;
  std::size_t bin = 0;
  while (below + static_cast<double>(bins_[bin]) < wanted) below += static_cast<double>(bins_[bin++]);
  return shortest * std::exp((static_cast<double>(bin) + 0.5) * per_bin);
}

Value StepTimes::to_value() const {
  std::string text;
  for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
    if (bins_[bin] == 0) continue;
    text += (text.empty() ? "" : " ") + std::to_string(bin) + ":" + std::to_string(bins_[bin]);
  }
  return text;
}

void StepTimes::add(const Value& bins) {
  if (!bins.is_string()) return;
  std::istringstream text(bins.string());
  std::size_t bin = 0;
  std::int64_t steps = 0;
  char colon = 0;
  while (text >> bin >> colon >> steps && colon == ':' && bin < bins_.size() && steps > 0) {
    bins_[bin] += static_cast<std::uint64_t>(steps);
    steps_ += steps;
  }
}

}  // namespace trainlab

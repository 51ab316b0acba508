#include "mean_step.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "core/statistics.h"

namespace trainlab {
namespace {

constexpr std::int64_t tenths = 10;
constexpr std::int64_t least = 2 * tenths;  // steps of each use

using Lengths = std::map<StepUse, double>;

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The median seconds of the steps of each use.
std::optional<Lengths> median_lengths(const std::vector<UsedStep>& steps) {
  std::map<StepUse, std::vector<double>> by_use;
  for (const StepUse use : {StepUse::counted, StepUse::rows, StepUse::operators, StepUse::plain}) by_use[use];
  for (const UsedStep& step : steps) by_use[step.use].push_back(step.seconds);
  Lengths lengths;
  for (const auto& [use, seconds] : by_use) {
    if (std::ssize(seconds) < least) return std::nullopt;
    lengths[use] = median(seconds);
  }
  return lengths;
}

// Steps of the same number do the same work in each run of a task. They tell how much longer a use makes a step, while
// the medians of few steps that differ widely may be those of steps with more work. A use that too few such steps tell
// of keeps its median.
void compare_runs(Lengths& lengths, const std::vector<UsedStep>& steps) {
  std::map<std::int64_t, std::vector<UsedStep>> by_number;
  for (const UsedStep& step : steps) by_number[step.number].push_back(step);
  std::map<StepUse, std::vector<double>> longer;
  for (const auto& [number, same] : by_number) {
    std::vector<double> alone;
    for (const UsedStep& step : same)
      if (is_left_alone(step.use)) alone.push_back(step.seconds);
    if (alone.empty()) continue;
    for (const UsedStep& step : same)
      if (!is_left_alone(step.use)) longer[step.use].push_back(step.seconds / mean_of(alone));
  }
  for (auto& [use, length] : lengths) {
    if (use == StepUse::none) length = lengths.at(StepUse::plain);
    if (const auto& ratios = longer[use]; std::ssize(ratios) >= least)
      length = lengths.at(StepUse::plain) * median(ratios);
  }
}

}  // namespace

std::optional<double> mean_over_median(const std::vector<UsedStep>& steps, bool whole) {
  std::optional<Lengths> lengths = median_lengths(steps);
  if (!lengths) return std::nullopt;
  if (whole) compare_runs(*lengths, steps);
  std::vector<double> ratios;
  for (const UsedStep& step : steps) ratios.push_back(step.seconds / lengths->at(step.use));
  if (whole) return mean_of(ratios);
  std::vector<double> means;
  for (std::int64_t i = 0, count = std::ssize(ratios); i < tenths; ++i)
    means.push_back(mean_of({ratios.begin() + i * count / tenths, ratios.begin() + (i + 1) * count / tenths}));
  return median(std::move(means));
}

}  // namespace trainlab

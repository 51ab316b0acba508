#include "study/no_improvement.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "expected_improvement.h"

namespace trainlab {

const NoImprovement::Verdict& NoImprovement::judge(const Trials& trials, bool maximize, std::int64_t visible) {
  std::vector<std::int64_t> complete;
  for (std::int64_t trial = 0; trial < std::min(visible, trials.size()); ++trial) {
    if (trials.state(trial) == TrialState::complete) complete.push_back(trial);
  }
  complete.resize(static_cast<std::size_t>(ExpectedImprovement::fitted(static_cast<std::int64_t>(complete.size()))));
  if (complete == judged_) return verdict_;
  judged_ = complete;
  verdict_ = {};
  ExpectedImprovement improvement(space_);
  if (static_cast<std::int64_t>(complete.size()) < startup || !improvement.searches()) return verdict_;
  std::vector<double> finite;
  for (const std::int64_t trial : complete) {
    const double value = maximize ? -trials.value(trial) : trials.value(trial);
    improvement.add(trials.point(trial), value);
    if (std::isfinite(value)) finite.push_back(value);
  }
  if (finite.empty()) return verdict_;
  const std::vector<double> open(space_.size(), std::numeric_limits<double>::quiet_NaN());
  verdict_.trials = static_cast<std::int64_t>(complete.size());
  verdict_.expected = improvement.best(Stream(Key(0).fold("no improvement")), {}, open).improvement;
  const auto middle = finite.begin() + static_cast<std::ptrdiff_t>(finite.size() / 2);
  std::nth_element(finite.begin(), middle, finite.end());
  verdict_.min_delta = min_delta_.value_or(0.01 * (*middle - *std::min_element(finite.begin(), finite.end())));
  verdict_.ends = verdict_.expected <= verdict_.min_delta;
  return verdict_;
}

}  // namespace trainlab

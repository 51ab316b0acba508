#include "study/no_improvement.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/statistics.h"
#include "samplers/expected_improvement.h"

namespace trainlab {

void NoImprovement::follow(const Trials& trials) {
  for (; seen_ < trials.size(); ++seen_) open_.push_back(seen_);
  std::erase_if(open_, [&](std::int64_t trial) {
    if (trials.state(trial) == TrialState::complete) {
      const auto place = std::ranges::upper_bound(complete_, trial);
      // A trial among the first ones has ended late: the verdict was made of other trials.
      if (place - complete_.begin() < static_cast<std::ptrdiff_t>(judged_)) {
        judged_ = 0;
        verdict_ = {};
      }
      complete_.insert(place, trial);
    }
    return is_final(trials.state(trial));
  });
}

const NoImprovement::Verdict& NoImprovement::judge(const Trials& trials, bool maximize, std::int64_t visible) {
  follow(trials);
  const auto shown = std::ranges::lower_bound(complete_, visible) - complete_.begin();
  const auto wanted = static_cast<std::size_t>(ExpectedImprovement::fitted(shown));
  if (wanted == judged_) return verdict_;
  judged_ = wanted;
  verdict_ = {};
  ExpectedImprovement improvement(space_);
  if (static_cast<std::int64_t>(wanted) < startup || !improvement.searches()) return verdict_;
  std::vector<double> finite;
  for (const std::int64_t trial : std::span(complete_).first(wanted)) {
    const double value = maximize ? -trials.value(trial) : trials.value(trial);
    improvement.add(trials.point(trial), value);
    if (std::isfinite(value)) finite.push_back(value);
  }
  if (finite.empty()) return verdict_;
  const std::vector<double> open(space_.size(), std::numeric_limits<double>::quiet_NaN());
  verdict_.trials = static_cast<std::int64_t>(wanted);
  verdict_.expected = improvement.best(Stream(Key(0).fold("no improvement")), {}, open).improvement;
  verdict_.min_delta =
      min_delta_.value_or(0.01 * (upper_median(finite) - *std::min_element(finite.begin(), finite.end())));
  verdict_.ends = verdict_.expected <= verdict_.min_delta;
  return verdict_;
}

}  // namespace trainlab

#include "trials/trial_flops.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "study_summary.h"

namespace trainlab {

TrialFlops::TrialFlops(double most, int workers, const SharedStudy& study,
                       std::function<double(std::int64_t trial)> planned)
    : most_(most), part_(most / workers), study_(study), plan_(std::move(planned)) {}

double TrialFlops::planned(std::int64_t trial) {
  const auto [found, is_new] = planned_.try_emplace(trial, 0);
  if (is_new) found->second = plan_(trial);
  return found->second;
}

TrialFlops::Before TrialFlops::before(std::int64_t trial) {
  Before all{.left = most_, .largest = 0};
  for (const StoredTrial& other : study_.stored().first(static_cast<std::size_t>(trial))) {
    const double flops = is_final(other.state) ? own_flops(study_, other) : std::min(planned(other.number), part_);
    all.left -= flops;
    all.largest = std::max(all.largest, flops);
  }
  return all;
}

std::int64_t TrialFlops::most_trials() {
  if (std::isinf(most_)) return std::numeric_limits<std::int64_t>::max();
  const Trials& trials = study_.study().trials();
  const std::int64_t size = trials.size();
  if (trials.count(TrialState::waiting) > 0) return size;
  const Before all = before(size);
  return all.left > 0 && all.left >= all.largest ? size + 1 : size;
}

bool TrialFlops::are_used() {
  const Trials& trials = study_.study().trials();
  return trials.ended() == trials.size() && most_trials() == trials.size();
}

bool TrialFlops::fits(std::int64_t trial) { return std::isinf(cap(trial)); }

double TrialFlops::cap(std::int64_t trial) {
  if (std::isinf(most_)) return most_;
  const double flops = planned(trial), left = before(trial).left;
  if (std::isinf(flops)) return std::min(part_, left);
  return flops <= left ? std::numeric_limits<double>::infinity() : left;
}

}  // namespace trainlab

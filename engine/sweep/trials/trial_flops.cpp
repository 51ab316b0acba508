#include "trials/trial_flops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/words.h"
#include "run/budget.h"
#include "run/folder.h"
#include "study_summary.h"
#include "trials/trial_folder.h"

namespace trainlab {

TrialFlops::TrialFlops(double most, int workers, const SharedStudy& study,
                       std::function<double(std::int64_t trial)> planned)
    : most_(most), part_(most / workers), study_(study), plan_(std::move(planned)) {}

double TrialFlops::planned(std::int64_t trial) {
  const auto [found, is_new] = planned_.try_emplace(trial, 0);
  if (is_new) found->second = plan_(trial);
  return found->second;
}

// The FLOPs of a trial that trains to its end; those of its part where only its time ends the trial.
double TrialFlops::to_come(std::int64_t trial) {
  const double flops = planned(trial);
  return std::isinf(flops) ? part_ : flops;
}

TrialFlops::Before TrialFlops::before(std::int64_t trial) {
  Before all{.left = most_, .largest = 0};
  for (const StoredTrial& other : study_.stored().first(static_cast<std::size_t>(trial))) {
    const double flops = is_final(other.state) ? own_flops(study_, other) : to_come(other.number);
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

// With a scheduler, a trial ends with the last validation of its segment, and its parent has used what it begins with.
double planned_flops(const StudyPlan& plan, const SharedStudy& study, TrialPlans& plans, std::int64_t trial) {
  const std::span<const double> point = study.study().trials().point(trial);
  const Segment segment = study.study().segment(trial);
  double sum = 0;
  try {
    for (std::int64_t repeat = 1; repeat <= plan.terms().repeats; ++repeat) {
      const FitPlan& fit = *plans.of(plans.fit(point, trial, repeat));
      const std::int64_t total = fit.length.total_steps, last = segment.until * fit.validate_every;
      const std::int64_t steps = last > 0 && (total == 0 || last < total) ? last : total;
      sum += steps > 0 ? fit.flops_until(steps) : std::numeric_limits<double>::infinity();
    }
  } catch (const Error& error) {
    if (!is_of_trial(error)) throw;
    return 0;  // the trial will fail by it
  }
  const Value before = segment.parent ? study.stored(*segment.parent).info["flops"] : Value();
  return sum - (before.is_number() ? before.number() : 0);
}

double inherited_flops(const std::filesystem::path& stage, const Segment& segment, std::int64_t repeat) {
  if (!segment.parent) return 0;
  const Value flops = read_summary(TrialFolder(stage, *segment.parent).ended(repeat))["flops"];
  return flops.is_number() ? flops.number() : 0;
}

// A trial that ends before its own end is compared with others all the same.
std::string text_of_cut(const BuiltTrial& trial, double left, const std::function<double(std::int64_t)>& planned) {
  const auto is_cut = [](const TrialFit& fit) { return fit.summary["reason"] == Value(flops_are_used); };
  const std::int64_t number = trial.trial->lease.trial;
  const double flops = std::ranges::any_of(trial.fits, is_cut) ? planned(number) : 0;
  if (flops == 0 || std::isinf(flops)) return {};
  return fmt::format("trial {} was cut short: {} of its {} FLOPs were left of the budget", number,
                     number_text(std::max(left, 0.0)), number_text(flops));
}

}  // namespace trainlab

#include "trial_seconds.h"

#include <algorithm>
#include <cmath>

#include "study/scheduler.h"

namespace trainlab {

std::int64_t length_of(const Study& study, const Segment& segment) {
  return std::max<std::int64_t>(study.length(segment), 1);
}

void TrialSeconds::add(std::int64_t length, double seconds) {
  double& most = by_length[length];
  most = std::max(most, seconds);
}

double TrialSeconds::longest() const {
  double most = 0;
  for (const auto& [length, seconds] : by_length) most = std::max(most, seconds);
  return most;
}

double TrialSeconds::expected(std::int64_t length) const {
  if (by_length.empty()) return 0;
  double most = by_length.begin()->second, in_proportion = 0;
  for (const auto& [known, seconds] : by_length) {
    if (known > length) break;
    most = std::max(most, seconds);
    in_proportion = seconds * static_cast<double>(length) / static_cast<double>(known);
  }
  return std::max(most, in_proportion);
}

TrialSeconds seconds_of_trials(const SharedStudy& study) {
  const auto seconds_of = [&](std::int64_t trial) {
    const Value& seconds = study.stored(trial).info["seconds"];
    return is_final(study.stored(trial).state) && seconds.is_number() ? seconds.number() : 0;
  };
  const Scheduler* const scheduler = study.study().scheduler();
  TrialSeconds all;
  double sum = 0, count = 0;
  for (std::int64_t t = 0; t < study.study().trials().size(); ++t) {
    const StoredTrial& trial = study.stored(t);
    // The seconds of a trial that has continued another one begin with those of the other.
    const Value& parent = trial.info["parent"];
    const Segment segment = study.study().segment(t);
    const double seconds = seconds_of(t) - (parent.is_integer() ? seconds_of(parent.integer()) : 0);
    if (is_final(trial.state)) all.add(length_of(study.study(), segment), seconds);
    const bool is_partial = scheduler && scheduler->is_partial(segment);
    if (trial.state != TrialState::complete || is_partial || !trial.info["duplicate_of"].is_nil()) continue;
    sum += seconds_of(t);
    ++count;
  }
  if (count > 0) all.whole = sum / count;
  return all;
}

double seconds_at_end(const StudyPlan& plan, double seconds, const TrialSeconds& trials) {
  constexpr double longer_trials = 3, share_of_ends = 0.02;
  const StudyTerms& terms = plan.terms();
  const double share = terms.share_at_end * seconds;
  if (terms.trainings_at_end == 0 || trials.whole == 0) return share;
  const double of_worker = std::ceil(static_cast<double>(terms.trainings_at_end) / plan.workers());
  const double trainings = of_worker * trials.whole / static_cast<double>(terms.repeats);
  return std::min(share, trainings + longer_trials * trials.longest() + share_of_ends * seconds);
}

}  // namespace trainlab

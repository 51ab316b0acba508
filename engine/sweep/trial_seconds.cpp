#include "trial_seconds.h"

#include <algorithm>

namespace trainlab {

TrialSeconds seconds_of_trials(const SharedStudy& study) {
  const auto seconds_of = [&](std::int64_t trial) {
    const Value& seconds = study.stored(trial).info["seconds"];
    return is_final(study.stored(trial).state) && seconds.is_number() ? seconds.number() : 0;
  };
  TrialSeconds all;
  std::int64_t furthest = 0;
  double sum = 0, count = 0;
  for (std::int64_t t = 0; t < study.study().trials().size(); ++t) {
    // The seconds of a trial that has continued another one begin with those of the other.
    const Value& parent = study.stored(t).info["parent"];
    all.longest = std::max(all.longest, seconds_of(t) - (parent.is_integer() ? seconds_of(parent.integer()) : 0));
    const std::int64_t until = study.study().segment(t).until;
    if (study.stored(t).state != TrialState::complete || until < furthest) continue;
    if (until > furthest) sum = count = 0;
    furthest = until;
    sum += seconds_of(t);
    ++count;
  }
  if (count > 0) all.whole = sum / count;
  return all;
}

double seconds_at_end(const StudyTerms& terms, double seconds, const TrialSeconds& trials) {
  constexpr double longer_trials = 3, share_of_ends = 0.02;
  const double share = terms.share_at_end * seconds;
  if (terms.trainings_at_end == 0 || trials.whole == 0) return share;
  const double trainings = static_cast<double>(terms.trainings_at_end) / static_cast<double>(terms.repeats);
  return std::min(share, trainings * trials.whole + longer_trials * trials.longest + share_of_ends * seconds);
}

}  // namespace trainlab

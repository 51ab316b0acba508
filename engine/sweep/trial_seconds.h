// TrialSeconds: the time that the trials of a study take, and the part of a stage's time that is kept for the trainings
// after its trials.
#pragma once

#include <cstdint>
#include <map>

#include "plan/study_plan.h"
#include "study/shared_study.h"

namespace trainlab {

// The validations that a trial with this segment trains; a whole fit counts as one, and so does a part that was cut
// short before its first validation.
std::int64_t length_of(const Study& study, const Segment& segment);

// Seconds of trials that have ended. A trial that trained in a stack took its part of the stack's time.
struct TrialSeconds {
  // By the length of a trial the most that one took, without the trial that it continued.
  std::map<std::int64_t, double> by_length = {};
  // The mean of the complete trials that trained as far as any may, with the trials that they continued. A trial that
  // took over the result of another one does not count. 0: there is none.
  double whole = 0;

  void add(std::int64_t length, double seconds);
  double longest() const;  // of all trials; 0: none has ended
  // The seconds that a trial of this length takes: those of the longest of its length, or in proportion to the next
  // shorter ones, and no less than those of any shorter trial. A trial that is shorter than all before is expected to
  // take as long as the shortest ones. 0: nothing is known.
  double expected(std::int64_t length) const;
};

TrialSeconds seconds_of_trials(const SharedStudy& study);

// The part that a stage with `seconds` in the run's budget keeps for the trainings after its trials: its share, or less
// where these trainings probably take less. They are expected to take as long as those of the trials, and are divided
// among the stage's workers. Some may take longer, and the stage has to begin and to end.
double seconds_at_end(const StudyPlan& plan, double seconds, const TrialSeconds& trials);

}  // namespace trainlab

// TrialSeconds: the time that the trials of a study take, and the part of a stage's time that is kept for the trainings
// after its trials.
#pragma once

#include "plan/study_plan.h"
#include "study/shared_study.h"

namespace trainlab {

// Seconds of trials that have ended; 0: none has. A trial that trained in a stack took its part of the stack's time.
struct TrialSeconds {
  double longest = 0;  // of one trial, without the trial that it continued
  // The mean of the complete trials that trained as far as any may, with the trials that they continued. A trial that
  // took over the result of another one does not count.
  double whole = 0;
};

TrialSeconds seconds_of_trials(const SharedStudy& study);

// The part that a stage with `seconds` in the run's budget keeps for the trainings after its trials: its share, or less
// where these trainings probably take less. They are expected to take as long as those of the trials, and are divided
// among the stage's workers. Some may take longer, and the stage has to begin and to end.
double seconds_at_end(const StudyPlan& plan, double seconds, const TrialSeconds& trials);

}  // namespace trainlab

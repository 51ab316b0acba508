// What the trials of a study take, and what a stage keeps of its time for the trainings that follow its trials.
#pragma once

#include "plan/study_plan.h"
#include "study/shared_study.h"

namespace trainlab {

// Seconds of trials that have ended; 0: none has. A trial that trained in a stack took its part of the stack's time.
struct TrialSeconds {
  double longest = 0;  // of one trial, without the trial that it continued
  double whole = 0;    // the mean of the complete trials that trained furthest, with the trials that they continued
};

TrialSeconds seconds_of_trials(const SharedStudy& study);

// What a stage that has `seconds` in the run's budget keeps for what follows its trials: its share, or less where the
// trainings that follow probably take less. They are expected to take as long as those of the trials. Some may take
// longer, and the stage has to begin and to end.
double seconds_at_end(const StudyTerms& terms, double seconds, const TrialSeconds& trials);

}  // namespace trainlab

// What the notes about the trainings of a study say beside their figures.
#pragma once

#include "journal/speed.h"
#include "plan/study_plan.h"

namespace trainlab {

// `words`: of the stage. Trials wait for each other where the stage has more workers than the machine has cores.
SpeedWords with_workers(SpeedWords words, const StudyPlan& plan);

}  // namespace trainlab

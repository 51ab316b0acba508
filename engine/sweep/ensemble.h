// What an ensemble's summary.json says: its members, their mean, the best of them, and all of them together.
#pragma once

#include "study_plan.h"

namespace trainlab {

// The best of the members that the study has trained.
Value seed_ensemble(const StudyPlan& plan, const StageContext& context, const SharedStudy& study);
// Members from the complete trials of a sweep, chosen greedily.
Value greedy_ensemble(const StudyPlan& plan);

}  // namespace trainlab

// What an ensemble's summary.json says: its members, their mean, the best of them, and all of them together.
#pragma once

#include "study_plan.h"

namespace trainlab {

// Both write artifacts/predictions.html and .csv: what the members say of the samples on which they differ most.

// The best of the members that the study has trained.
Value seed_ensemble(const StudyPlan& plan, const StageContext& context, const SharedStudy& study);
// Members from the complete trials of a sweep, chosen greedily.
Value greedy_ensemble(const StudyPlan& plan, const StageContext& context);

}  // namespace trainlab

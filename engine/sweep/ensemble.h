// The contents of an ensemble's summary.json: its members, their mean, the best member, and the ensemble.
#pragma once

#include "plan/study_plan.h"

namespace trainlab {

// Both functions also write artifacts/predictions.html and .csv: the members' predictions for the samples on which they
// differ most.

// An ensemble of the best members that the study has trained. `stopped`: why not all of them were trained. Error{run}
// where there is none.
Value seed_ensemble(const StudyPlan& plan, const StageContext& context, const SharedStudy& study,
                    const std::optional<std::string>& stopped);
// Members from the complete trials of a sweep, chosen greedily.
Value greedy_ensemble(const StudyPlan& plan, const StageContext& context);

}  // namespace trainlab

// The facts of a fit that decide which changes suit it, read from its plan. Private to the room.
#pragma once

#include "profile/remedies.h"

namespace trainlab {

// All but those that a fit shares with a task: of its threads, its cores and its device.
FitFacts facts_of(const Profile& profile, const FitPlan& plan, const StageOfTraining& stage, int threads);

// Whether the recipe's functions between two steps, but for those of a checkpoint, follow validations and nothing else.
bool calls_at_validations_alone(const FitPlan& plan);
// The time that these functions take, all fits of a group together.
Rhythm functions_at_validations(const Profile& profile);

}  // namespace trainlab

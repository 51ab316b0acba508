// The facts of a fit that decide which changes suit it, read from its plan. Private to the room.
#pragma once

#include "profile/remedies.h"

namespace trainlab {

// All but those that a fit shares with a task: of its threads, its cores and its device.
FitFacts facts_of(const Profile& profile, const FitPlan& plan, const StageOfTraining& stage, int threads);

}  // namespace trainlab

// The facts of a fit that decide which changes suit it, read from its plan. Private to the room.
#pragma once

#include "profile/remedies.h"

namespace trainlab {

inline constexpr std::int64_t rarer_validations = 4;  // of so many validations the remedy leaves one

// All but those that a fit shares with a task: of its threads, its cores and its device.
FitFacts facts_of(const Profile& profile, const FitPlan& plan, const StageOfTraining& stage, int threads);

// The seconds of a short run that has some of the calls that FitFacts::calls_at_validations is about, with rarer
// validations too; 0 where no such calls take the time.
double least_run(const Profile& profile, const FitFacts& facts);

}  // namespace trainlab

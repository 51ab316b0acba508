// A fit that goes on with other options after its own have led to a fault.
#pragma once

#include <functional>
#include <memory>

#include "train/fit_plan.h"

namespace trainlab {

// The work that fit_entry.cpp does for each attempt.
struct FitAttempts {
  // The plan of the stage with the fixes of the settings. `opened`: see plan_fit().
  std::function<FitPlan(const RunSettings& settings, const DataParts* opened)> plan;
  std::function<Value(const FitPlan&, const StageContext&)> train;
};

// Trains until a training ends without FixWanted. Each fix that is wanted is recorded in the manifest, and the fit goes
// back to its last good checkpoint, or begins anew. `plan`: of the first attempt, with the fixes of context.settings.
Value train_with_fixes(std::shared_ptr<const FitPlan> plan, const StageContext& context, const FitAttempts& attempts);

}  // namespace trainlab

// The fix that a verdict asks for, under health.action = "fix".
#pragma once

#include <optional>

#include "health/verdict.h"
#include "train/fit_plan.h"

namespace trainlab {

// `settings`: those with which the plan was made. nullopt where the remedy is not one option, where the confidence is
// low, after three fixes, and where the fit cannot be planned with the other value, or would be the same.
std::optional<Fix> wanted_fix(const HealthVerdict& verdict, const FitPlan& plan, const RunSettings& settings);

}  // namespace trainlab

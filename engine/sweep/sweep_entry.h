// Options that lab.sweep and lab.ensemble share, and the work on their study. Private to the module.
#pragma once

#include <functional>
#include <string>

#include "core/registry.h"
#include "plan/study_plan.h"
#include "study/database.h"
#include "worker.h"

namespace trainlab {

Option build_option();
Option workers_option();
Option study_threads_option();
Option stack_option();

void register_ensemble(Registry& registry, const TrialAddition& addition);

// Works on the stage's study until no work is left. The engine that owns the stage then calls `summarise`.
Value work_on(const StudyPlan& plan, const StageContext& context,
              const std::function<Value(const Worker&, bool interrupted)>& summarise);

// The text of `trainlab check` for a stage: the space, the trials, and the fit of the first trial.
Checked describe_study(const StudyPlan& plan, const CheckedToo& too);

}  // namespace trainlab

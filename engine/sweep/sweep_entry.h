// What lab.sweep and lab.ensemble share: options, and work on their study. Private to the module.
#pragma once

#include <functional>
#include <string>

#include "core/registry.h"
#include "study_plan.h"
#include "worker.h"

namespace trainlab {

Option build_option();
Option workers_option();
Option study_threads_option();
Option stack_option();

// Works on the stage's study until nothing is left to do. `summarise` is asked when all has ended, by the engine to
// which the stage belongs.
Value work_on(const StudyPlan& plan, const StageContext& context,
              const std::function<Value(const Worker&, bool interrupted)>& summarise);

// What `trainlab check` prints of a stage: the space, the trials, and the fit of the first one.
std::string describe_study(const StudyPlan& plan, bool step);

}  // namespace trainlab

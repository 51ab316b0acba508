#include "ensemble_plan.h"
#include "sweep/sweep.h"
#include "sweep_plan.h"

namespace trainlab {

Options first_trial(const Options& study, const RunSettings& settings) {
  return study.entry().name == "sweep" ? SweepPlan(study, settings).example() : EnsemblePlan(study, settings).example();
}

}  // namespace trainlab

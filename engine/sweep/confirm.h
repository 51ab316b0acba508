// The confirmation of a search: its best trials are trained again on fresh seeds, one seed of all of them after the
// other, in a study of their own in the folder `confirm` of the stage. The trainings by which the winner of a search
// was chosen make the winner look too good; fresh ones do not. Private to the module.
#pragma once

#include "plan/sweep_plan.h"
#include "worker.h"

namespace trainlab {

// For the engine that owns the stage, after a search that has ended. Goes on where an earlier process stopped, and puts
// what is known of the best trials into the summary of the search: the field `confirmed`, and in `best` the trial that
// is the best by all of its trainings, or with a scheduler by the fresh ones, with the value of the fresh ones alone.
// Does nothing for a sweep that confirms nothing, and for a run that helps with the study of another run.
void confirm(const SweepPlan& plan, const Worker& search, const StageContext& context, Value& summary);

// For an engine that helps: waits until the engine that owns the stage has chosen what is confirmed, and trains too.
void help_to_confirm(const SweepPlan& plan, const StageContext& context);

}  // namespace trainlab

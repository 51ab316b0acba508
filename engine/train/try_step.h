// A fit as `trainlab check` tries it. Private to the module.
#pragma once

#include "run/stage.h"
#include "train/fit_plan.h"

namespace trainlab {

// Takes one training and one validation step of a fit in its loop, without a folder, and returns their metrics.
// Nothing is written, and the results are thrown away. Of the functions in `on` only `start` is called, because a step
// of the recipe's own may need values that `start` puts into run.state. Errors are those of the fit itself.
// The plan is changed meanwhile, and stays so after an error.
Checked try_step(FitPlan& plan);

// Calls each function of the recipe in the fit's loop, without a folder: an epoch of two batches of a few samples, a
// validation, the test part and the end. Nothing is written, and the results are thrown away.
Checked try_callbacks(FitPlan plan);

}  // namespace trainlab

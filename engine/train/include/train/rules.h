// The stop rules of a fit: entries and a recipe's functions, in the order of the recipe.
#pragma once

#include <memory>
#include <vector>

#include "core/random.h"
#include "train/run_handle.h"
#include "train/stop.h"

namespace trainlab {

// Reads the option `stop` of a fit. A function stop(run) is called with `run` and re-keyed from `key`, its place and the step.
std::vector<std::unique_ptr<StopRule>> make_stop_rules(const Options& fit, const StopContext& context,
                                                       std::shared_ptr<RunHandle> run, Key key);

}  // namespace trainlab

// SeededTrainings: trainings of a fit in several sizes, of its data or of its model, with a few seeds. Private to the
// room.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/registry.h"
#include "find/context.h"
#include "find/seeded_findings.h"
#include "run/stage.h"
#include "train/fit.h"

namespace trainlab {

// The fit with this seed.
Options with_seed(const Registry& registry, const Spec& fit, std::int64_t seed);

// Raises Error{recipe} for a fit that monitors a metric of its training part, `which` says too little.
void check_monitors_validation(const FitPlan& plan, const std::string& which);

// The results of a size: a value for each seed that has a value for every size.
struct SeededSize {
  std::vector<double> values = {};
  double seconds = 0;  // of the latest training
};

struct SeededResults {
  SeededFindings findings;
  std::vector<SeededSize> sizes = {};
};

struct SeededQuestion {
  const FitPlan& fit;  // the metric that the fit monitors is asked for
  // The plans of all sizes for a seed, in ascending order.
  std::function<std::vector<FitPlan>(std::int64_t seed)> plans;
  // How many times as long a step of a size takes as one of the size before, until its time is known.
  double growth = 1;
};

// Trains three seeds from the settings' seed on, or, where the context limits the time, as many as fit into it, 2
// to 10. A training that is under way when the time is over, or whose steps show that the time is clearly too short,
// ends at a step, and its seed does not count. Nothing is written, and of the functions in `on` only `start` is called.
// Error{usage} where two seeds do not fit into the time; Error{run} where fewer than two seeds have a result;
// Error{interrupted} when the run was asked to stop.
SeededResults train_seeds(const SeededQuestion& question, const RunSettings& settings, const SearchContext& context);

}  // namespace trainlab

// The facts about a recipe's fit that the engine reports before anything is trained (see
// tools/engine/commands/fit_facts.cpp).
#pragma once

#include <optional>
#include <string>

#include "core/value.h"
#include "run/request.h"
#include "run/supervisor.h"

namespace trainlab::cli {

struct EngineAnswer {
  Value facts;
  Outcome outcome;  // how the engine ended, where it could not answer
};

// Asks an engine about the recipe of `request`, and about a metric by its full name; an empty name stands for the
// metric that the fit monitors. The engine only executes the recipe and opens the data. Stages before the fit have the
// results of the run in the option `ended`, which has ended; without this option, such a recipe is refused. `until`, by
// steady_seconds(): where it is given, the engine also trains for about a second before this moment, keeps nothing of
// it, and tells how long a training takes: `seconds` of the whole length, 0 where no time was left to train; `steps`
// and `time`, its length in steps and seconds, 0 where the other one ends it; and whether a stop rule or a function of
// the recipe may end it earlier (`may_end_early`).
EngineAnswer ask_about(Request request, const std::string& metric, std::optional<double> until = std::nullopt);
// The same of a training with another seed: what differs depends on the seed.
EngineAnswer ask_about_other_seed(Request request, const std::string& metric);
// The same about the ensemble of the run in the option `ended`: the facts of the fit that its first member was. The
// direction is that of the ensemble and not among the facts, and an ensemble of tasks has no facts but `is_of_tasks`.
EngineAnswer ask_about_ensemble(Request request, const std::string& metric);

// The part of the data by which a metric is measured: "val" of "val.loss".
std::string part_of(const std::string& metric);
// A text for each part of the data on which trainings rest that are judged by the metric, the training part and that of
// the metric: it is another where the part holds other samples, inputs or targets. `facts`: about a recipe.
Value data_of(const Value& facts, const std::string& metric);
// The first part whose text has changed from `before` to `now`, which data_of() gave; nullopt where none has, or nobody
// knows, because `before` is nil.
std::optional<std::string> changed_part(const Value& before, const Value& now);

}  // namespace trainlab::cli

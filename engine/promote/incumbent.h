// The model that a new one is compared with.
#pragma once

#include <filesystem>
#include <string>

#include "train/fit_plan.h"

namespace trainlab {

// A metric, by its full name ("val.accuracy"), of the model behind the result of `run`, on the data of `plan`. The
// inputs are brought into the form in which that model was trained: with its own mean and standard deviation where both
// runs normalise. Error{usage} where the model cannot be measured in this way: other inputs, a table with other
// categories or another tokenizer, functions of a recipe, an ensemble.
double metric_of_run(const FitPlan& plan, const std::filesystem::path& run, const std::string& metric);

}  // namespace trainlab

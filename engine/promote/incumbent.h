// The incumbent: the model with which a new model is compared.
#pragma once

#include <filesystem>
#include <string>

#include "train/fit_plan.h"

namespace trainlab {

// The part of the data on which a metric is measured that is given by its full name: "val.accuracy".
const Part& part_of(const FitPlan& plan, const std::string& metric);

// The value of a metric, given by its full name ("val.accuracy"), of the model that `run` has trained in this stage, on
// the data of `plan`. Where the run has no stage of this name, the stage counts that its recipe returned. The inputs
// are brought into the form in which this model was trained, with the mean and the standard deviation of `run` where it
// has normalised its data. Error{usage} where the model cannot be measured in this way: other inputs, a table with
// other categories or another tokenizer, functions of a recipe, an ensemble.
double metric_of_run(const FitPlan& plan, const std::filesystem::path& run, const std::string& stage,
                     const std::string& metric);

}  // namespace trainlab

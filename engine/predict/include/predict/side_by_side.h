// The predictions of an ensemble's members for single samples, side by side, for a person to judge.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <string>
#include <vector>

#include "train/fit_plan.h"

namespace trainlab {

// Writes artifacts/predictions.csv and .html below `stage`: the samples of the part on which the members differ most,
// the largest differences first. `members`, `ensemble`: [N, …] for the part's samples in order
// (MeanPrediction::predictions); `names`: names of the members. The page shows images. Nothing is written for outputs
// of several axes. Raises as write_atomic does.
void write_side_by_side(const FitPlan& plan, const Part& part, const std::vector<std::string>& names,
                        const std::vector<at::Tensor>& members, const at::Tensor& ensemble,
                        const std::filesystem::path& stage);

}  // namespace trainlab

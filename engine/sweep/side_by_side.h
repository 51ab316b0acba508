// What the members of an ensemble say of single samples, side by side, so that a person can judge them.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <string>
#include <vector>

#include "train/fit_plan.h"

namespace trainlab {

// Writes artifacts/predictions.csv and .html below `stage`: the samples of the part on which the members differ most,
// the first of them first. members, ensemble: [N, …] of the part's samples in order (MeanPrediction::predictions);
// `names`: of the members. On the page images are shown. Nothing is written for outputs of several axes. Raises as
// write_atomic does.
void write_side_by_side(const FitPlan& plan, const Part& part, const std::vector<std::string>& names,
                        const std::vector<at::Tensor>& members, const at::Tensor& ensemble,
                        const std::filesystem::path& stage);

}  // namespace trainlab

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "health/figures.h"
#include "train/fit_plan.h"

namespace trainlab {

// The loss of a model that gives each sample the same prediction, the best one for the training part; NaN where it is
// not known.
struct ConstantLoss {
  double train = unmeasured;
  double val = unmeasured;  // of the same prediction, on the validation part; of losses of numbers alone
};

// Reads the targets of a loss of numbers, or the labels of the cross-entropy with a label for each position of a
// sample, as in texts: in evenly spaced samples, where there are many. Nothing is known where the recipe's functions
// make the batches, where samples are weighted, or where the loss has a target of its own.
ConstantLoss constant_loss(const FitPlan& plan);

// How often each class is among the labels, contiguous int64 on the CPU. Labels that are no class, and `ignored`, do
// not count.
std::vector<double> counts_of(const at::Tensor& labels, std::int64_t classes, std::optional<std::int64_t> ignored);
// The entropy of the distribution with these counts, in nats; NaN where all are 0.
double entropy_of(const std::vector<double>& counts);

}  // namespace trainlab

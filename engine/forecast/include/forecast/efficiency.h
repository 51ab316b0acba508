// Whether a training has spent its compute and its data well, by its own validations: the two flags that a plan has too
// (plan/plan.h), each with the figure behind it. A training alone does not tell what another size of model would have
// reached, so that these flags say less than those of a plan: nothing is said that the validations do not show.
#pragma once

#include <optional>

#include "core/value.h"
#include "forecast/learning_curve.h"

namespace trainlab {

// The same loss for at most this share of the FLOPs is a waste of compute.
inline constexpr double inefficient_share = 0.9;
// After more passes over the data than this, another pass is worth less than new data (Muennighoff et al. 2023, arXiv
// 2305.16264).
inline constexpr double most_passes = 4;

// A training that has ended.
struct EndedTraining {
  const LearningCurve& curve;             // of the monitored metric
  double steps = 0;                       // optimizer steps done
  std::optional<double> best_step = {};   // of the weights that are kept, where these are the best ones
  double passes = 0;                      // over the training data, up to the weights that are kept
  bool repeats_data = false;              // a sample is the same in each pass
  std::optional<double> train_loss = {};  // of the weights that are kept, in the last steps before them
  std::optional<double> val_loss = {};
};

struct Efficiency {
  // The share of the steps, and so of the FLOPs, after which the training had the value of the weights that are kept;
  // nullopt where there are too few validations to tell a tenth of it.
  std::optional<double> compute_share;
  double passes = 0;
  // The training loss over the validation loss: below 1 as far as data that come back are known by heart. nullopt where
  // the two are not known, or 0.
  std::optional<double> loss_ratio;
  // Whether the share is at most inefficient_share, up to the next validation after the weights that are kept.
  bool is_compute_inefficient = false;
  bool is_data_inefficient = false;  // the same data came more than most_passes times, and the ratio is as low
};

// A pure function. With last weights, a value is the mean over a tenth of the validations, and there are at least 20 of
// them; with best weights at least 10.
Efficiency efficiency_of(const EndedTraining& training);

// { flags = { "compute_inefficient", "data_inefficient" }, compute_share, passes, loss_ratio }, as in summary.json.
Value to_value(const Efficiency& efficiency);

}  // namespace trainlab

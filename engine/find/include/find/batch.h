// Finds the size of a fit's batch: how noisy its gradients are, how long steps of several sizes take, and so which size
// is soonest at the same loss.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/registry.h"
#include "find/context.h"
#include "find/noise_scale.h"
#include "run/stage.h"

namespace trainlab {

struct NoiseAt {
  std::int64_t step = 0;  // steps that were trained before
  NoiseScale scale = {};
};

struct BatchPoint {
  std::int64_t batch = 0;   // samples of a step
  double seconds = 0;       // of a step, the median
  std::int64_t memory = 0;  // predicted peak of its tensors, in bytes; 0: not known
  // Time and samples to the same loss, over those of the recipe's own batch: steps as 1 + critical / batch (McCandlish
  // et al. 2018, equation 2.11).
  double time = 0, samples = 0;
};

struct FoundBatch {
  std::int64_t batch = 0;       // the recipe's
  std::int64_t suggestion = 0;  // the smallest of those that are soonest, within 5 %
  std::int64_t accumulate = 1;  // micro-batches of a step: the option `batch` is the size of one
  std::vector<NoiseAt> noise = {};
  // Beyond this size, fewer steps cost more than twice the least number of samples. A range, because the noise scale in
  // the middle of a training was 1 to 4 times the size that trainings to a loss showed.
  double knee_low = 0, knee_high = 0;
  std::vector<BatchPoint> curve = {};  // by rising size
  std::string ended_by = {};           // why no larger size was tried
  double rate = 0, scaled_rate = 0;    // the recipe's learning rate, and that for the suggestion; NaN: no such rule
};

struct BatchOptions {
  std::int64_t steps = 600;  // of the training in which the noise is measured, unless the fit is shorter
  SearchContext context = {};
};

// `fit` is a checked lab.fit. Each training begins from new weights, and nothing is written. Error{recipe} for a fit
// with a step of its own or with fuse_step, and where fewer than 16 batches make the training.
FoundBatch find_batch(const Registry& registry, const Spec& fit, const RunSettings& settings,
                      const BatchOptions& options);

std::string batch_text(const FoundBatch& found);
// { kind = "finder", batch = { suggestion, knee, … }, noise = { { step, value, low, high }, … }, curve = { … } }
Value to_value(const FoundBatch& found);

}  // namespace trainlab

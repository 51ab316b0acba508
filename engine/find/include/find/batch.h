// Finds the size of a fit's batch. From the noise of the gradients and from the times of steps of several sizes follows
// which size reaches the same loss in the shortest time.
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
  std::int64_t step = 0;  // training steps before the measurement
  NoiseScale scale = {};
};

struct BatchPoint {
  std::int64_t batch = 0;   // samples in a step
  double seconds = 0;       // median seconds of a step
  std::int64_t memory = 0;  // predicted peak of a step's tensors, in bytes; 0: unknown
  // Time and samples to the same loss, divided by those of the recipe's own batch. The number of steps is proportional
  // to 1 + critical / batch (McCandlish et al. 2018, equation 2.11).
  double time = 0, samples = 0;
};

struct FoundBatch {
  std::int64_t batch = 0;       // the recipe's batch
  std::int64_t suggestion = 0;  // the smallest batch whose time is within 5 % of the shortest
  std::int64_t accumulate = 1;  // micro-batches of a step; the option `batch` is the size of a micro-batch
  std::vector<NoiseAt> noise = {};
  // The range of the size beyond which a training needs more than twice the least number of samples. A range, because
  // the noise scale in the middle of a training was 1 to 4 times the size that was found by trainings to a given loss.
  double knee_low = 0, knee_high = 0;
  std::vector<BatchPoint> curve = {};  // in rising order of size
  std::string ended_by = {};           // why no larger size was tried
  double rate = 0, scaled_rate = 0;    // learning rates of the recipe and for the suggestion; NaN: no rule
};

struct BatchOptions {
  std::int64_t steps = 600;  // length of the training in which the noise is measured, unless the fit is shorter
  SearchContext context = {};
};

// Finds the batch of `fit`, a checked lab.fit. Each training begins from new weights, and nothing is written.
// Error{recipe} for a fit with a step of its own or with fuse_step, and where fewer than 16 batches make the training.
FoundBatch find_batch(const Registry& registry, const Spec& fit, const RunSettings& settings,
                      const BatchOptions& options);

std::string batch_text(const FoundBatch& found);
// { kind = "finder", batch = { suggestion, knee, … }, noise = { { step, value, low, high }, … }, curve = { … } }
Value to_value(const FoundBatch& found);

}  // namespace trainlab

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
  std::int64_t memory = 0;  // predicted peak of a step's tensors on the CPU, in bytes; 0: unknown
  // Time and samples to the same loss, divided by those of the recipe's own batch, for a knee in the middle of its
  // range. The number of steps is proportional to 1 + knee / batch (McCandlish et al. 2018, equation 2.11). NaN where
  // the range has no upper end, or begins at 0.
  double time = 0, samples = 0;
};

struct FoundBatch {
  std::int64_t batch = 0;  // the recipe's batch
  // For any knee there is a smallest batch whose time is within 5 % of the shortest. Of these batches for all knees in
  // the range, the one that is nearest to the recipe's batch.
  std::int64_t suggestion = 0;
  std::int64_t accumulate = 1;  // micro-batches of a step; the option `batch` is the size of a micro-batch
  // The option of the fit that says how large a step is, "effective" or "batch", and whether the recipe gives it as a
  // number rather than as "auto".
  std::string option = "batch";
  bool is_number = true;
  std::vector<NoiseAt> noise = {};
  // The range of the size beyond which a training needs more than twice the least number of samples: from a quarter of
  // the lower end of the noise scale's interval in the middle of a training to the upper end, because this scale was 1
  // to 4 times the size that was found by trainings to a given loss. The upper end may be infinite.
  double knee_low = 0, knee_high = 0;
  std::vector<BatchPoint> curve = {};  // in rising order of size
  std::string ended_by = {};           // why no larger size was tried
  double rate = 0, scaled_rate = 0;    // learning rates of the recipe and for the suggestion; NaN: no rule
  // Why the search ended before its end; empty: it came to its end. Where the recipe's own size was not timed by then,
  // the suggestion is this size, and where the noise was not measured, the knee is NaN.
  std::string stopped = {};

  // The option `batch` that makes the suggested step of `accumulate` micro-batches.
  std::int64_t micro_batch() const { return suggestion / accumulate; }
  // The value of `option` for a step of this many samples.
  std::int64_t value_of_option(std::int64_t samples) const {
    return option == "effective" ? samples : samples / accumulate;
  }
};

struct BatchOptions {
  std::int64_t steps = 600;  // length of the training in which the noise is measured, unless the fit is shorter
  SearchContext context = {};
};

// Sets the suggestion, and the times and samples of the curve, from the knee and the seconds of the curve, which has
// the recipe's batch among its sizes. Pure.
void judge_sizes(FoundBatch& found);
// Whether the time to a loss has grown by more than 5 % with each of the two latest sizes of a rising curve, for this
// knee. It then grows for all smaller knees too. Pure.
bool takes_longer(const std::vector<BatchPoint>& curve, double knee);
// The share of a step's samples that is not wasted, beside a training by small batches, for such a knee.
double efficiency_of(std::int64_t batch, double knee);

// Finds the batch of `fit`, a checked lab.fit. Each training begins from new weights, and nothing is written.
// Error{recipe} for a fit with a step of its own or with fuse_step, for one whose steps take more than half of the
// samples of an epoch (of samples drawn with replacement, more than an epoch has), and for one of fewer than 99 steps:
// at each of three places 32 steps measure gradients, and one trains. More steps are needed where the last step of an
// epoch has fewer samples than the others, because its gradient is not measured, and where an epoch has two or four
// others, because the first of the 32 then begins an epoch.
FoundBatch find_batch(const Registry& registry, const Spec& fit, const RunSettings& settings,
                      const BatchOptions& options);

// The text of a search that came to its end.
std::string batch_text(const FoundBatch& found);
// { kind = "finder", batch = { suggestion, knee, efficiency, … }, noise = { { step, value, low, high }, … },
//   curve = { … } }
Value to_value(const FoundBatch& found);

}  // namespace trainlab

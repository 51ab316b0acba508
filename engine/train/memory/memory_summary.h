// The field `memory` of a fit's summary.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/value.h"
#include "train/fit_plan.h"
#include "train/memory_prediction.h"

namespace trainlab {

// The measured memory of a fit on the CPU. On other devices only the peak is known.
struct MeasuredMemory {
  std::size_t rows = 1;                   // that train side by side at the beginning
  std::int64_t training = 0;              // the most bytes of tensors at any time of the fit
  std::optional<MemoryLedger> step = {};  // ledger of the largest of some training steps
  std::int64_t program = 0;               // bytes that the process held beside tensors at the end of this step
  std::int64_t held_before = 0;           // bytes of tensors before the fit's first tensor
  std::int64_t micro_batch = 0;           // MicroBatch::samples
  std::int64_t offloaded = 0;             // most bytes in files (tensor/file_memory.h), which the others leave out
};

// The options in use that save memory, and all that a budget has chosen, written as for --set: "batch=512",
// "memory.recompute=every 4". `micro_batch`: MicroBatch::samples.
std::vector<std::string> memory_options_in_use(const FitPlan& plan, std::int64_t micro_batch);

// The memory of a training of `rows` members without the options of `memory`, with steps in one part, also where
// `effective` divides them.
MemoryPrediction plain_memory(const FitPlan& plan, std::size_t rows = 1);

// The segments of plan.recompute as patterns of layers, or "cheap" alone where they are those; "auto" alone where
// segments lie within others, which patterns cannot express.
std::vector<std::string> segment_patterns(const FitPlan& plan);

// { peak, plain, step, budget, categories, offloaded, chosen }; an unknown member is nil. `peak` and `plain` are of the
// training, `plain` without the options that save memory: predicted if such an option is in use.
Value memory_summary(const FitPlan& plan, const MeasuredMemory& measured);

}  // namespace trainlab

// The field `memory` of a fit's summary.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/value.h"
#include "train/fit_plan.h"
#include "train/memory_ledger.h"

namespace trainlab {

// The memory of a fit on the CPU, as measured. On other devices nothing but the peak is known.
struct MeasuredMemory {
  std::int64_t peak = 0;                  // the most bytes of tensors at a time, validations included
  std::optional<MemoryLedger> step = {};  // of a training step
  std::int64_t program = 0;               // bytes that the process held beside tensors at the end of that step
  std::int64_t held_before = 0;           // bytes of tensors before the first of the fit
  std::int64_t micro_batch = 0;           // MicroBatch::samples
};

// The options by which the steps of a fit save memory, as a recipe or --set would say them: "batch=512",
// "memory.recompute=every 4". `micro_batch`: MicroBatch::samples.
std::vector<std::string> memory_options_in_use(const FitPlan& plan, std::int64_t micro_batch);

// { peak, plain, budget, categories, chosen }, nil for what is not known. Predicts the plain step where something saves
// memory.
Value memory_summary(const FitPlan& plan, const MeasuredMemory& measured);

}  // namespace trainlab

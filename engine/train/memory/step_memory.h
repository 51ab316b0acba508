// The memory of a fit's training steps: its limit, the ledger of a step, and the field `memory` of the fit's summary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "data/loader.h"
#include "memory_summary.h"
#include "tensor/memory.h"

namespace trainlab {

// Not thread-safe.
class StepMemory {
 public:
  // To be made before the first tensor of the fit.
  explicit StepMemory(const FitPlan& plan);
  // Says which loader feeds the steps from now on.
  void fed_by(const Loader& loader);
  // The limit of a step, to be held while the step is taken. It leaves room for all buffers of the loader, because a
  // worker that ran out of memory would end the fit.
  MemoryBudget budget() const { return MemoryBudget(plan_.budget, for_batches_); }
  // Takes a step and keeps the ledger of its memory, where nobody else listens to the step.
  void record(const std::function<void()>& step);
  // Completes the error of a step of `rows` members that no smaller part of a batch makes fit.
  void explain(TensorMemoryLimit& error, std::size_t rows) const;
  // The field `memory`. `micro_batch`: MicroBatch::samples.
  Value summary(std::int64_t micro_batch) const;

 private:
  const FitPlan& plan_;
  MeasuredMemory measured_;
  std::int64_t batches_before_;   // bytes of tensors charged to batches before the fit
  std::int64_t for_batches_ = 0;  // bytes of all batches, these and the loader's; 0 without a limit
};

}  // namespace trainlab

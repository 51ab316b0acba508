// The memory of a fit: its limit, the ledger of a training step, and the field `memory` of the fit's summary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "data/loader.h"
#include "memory_summary.h"
#include "tensor/memory.h"

namespace trainlab {

// Not thread-safe.
class FitMemory {
 public:
  // To be made before the first tensor of the fit, which begins with this number of rows: one, or the members of a
  // stack.
  FitMemory(const FitPlan& plan, std::size_t rows);
  // To be called with the loader that gives the batches from now on, beside which the validation part is evaluated.
  void fed_by(const Loader& loader);
  // To be called with the part that is evaluated from now on, before its loader is made, and how often it is; 0: not
  // known.
  void evaluates(const std::optional<Part>& part, std::int64_t runs);
  // The limit of the training, an object that must live while the engine works on it. The limit leaves room for all
  // buffers of the loaders, because a worker that ran out of memory would end the fit.
  MemoryBudget budget() const { return MemoryBudget(plan_.budget, for_batches_); }
  // Takes a step. Keeps the ledger of its memory if no step held more before, unless another listener hears the step.
  void record(const std::function<void()>& step);
  // To be called where steps are smaller from now on: the next ledger is kept in any case.
  void record_anew() { records_anew_ = true; }
  // Adds advice to the error of a step of `rows` members that does not fit even with the smallest part of a batch.
  void explain_step(TensorMemoryLimit& error, std::size_t rows) const;
  // Adds advice to the error of an evaluation.
  void explain_evaluation(TensorMemoryLimit& error) const;
  // The field `memory` of the summary. `micro_batch`: MicroBatch::samples.
  Value summary(std::int64_t micro_batch) const;

 private:
  const FitPlan& plan_;
  MeasuredMemory measured_;
  bool records_anew_ = true;
  std::int64_t batches_before_;    // bytes of tensors charged to batches before the fit
  std::int64_t for_training_ = 0;  // these bytes and those of the training loader's buffers; 0 without a limit
  std::int64_t for_batches_ = 0;   // with the buffers of the part that is evaluated
};

}  // namespace trainlab

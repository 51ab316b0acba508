// The memory of a fit, measured: some steps of the fit are run, and the memory of the last of them is told by kind.
#pragma once

#include <cstdint>

#include "train/fit_plan.h"
#include "train/memory_ledger.h"

namespace trainlab {

struct RecordedMemory {
  MemoryLedger ledger;
  std::int64_t counted_peak = 0;  // of the same step, as the allocator counts it without a ledger
  std::int64_t resident = 0;      // memory of the process when the step had ended, as the system sees it
  std::int64_t steps = 0;         // that were run

  // Bytes that the process holds beside tensors: code, buffers of libraries, and memory that the allocator keeps.
  // Resident memory follows the peak of earlier steps, because the allocator gives little back between steps.
  std::int64_t program() const { return resident > ledger.peak ? resident - ledger.peak : 0; }
  // The ledger's, with `resident`, and `program` among the categories (which then sum to `resident` where the process
  // holds at least the peak).
  Value to_value() const;
};

// Runs the first steps of a fit on the CPU without a folder, and records the last of them; a shorter fit is recorded in
// its last step. By the third step gradients and the optimizer's state are what they are in the steps that follow. The
// loader may still take more buffers, since its workers fill them ahead in their own time. The recipe's `on.start` is
// called. Not thread-safe: no other code uses the CPU's tensors meanwhile. Errors are those of the fit.
RecordedMemory record_memory(const FitPlan& plan, std::int64_t steps = 3);

}  // namespace trainlab

// The measured memory of a fit or a task: some steps are run, and the memory of the last of these is reported by kind.
#pragma once

#include <algorithm>
#include <cstdint>

#include "run/stage.h"
#include "train/fit_plan.h"
#include "train/memory_ledger.h"

namespace trainlab {

struct RecordedMemory {
  MemoryLedger ledger;
  std::int64_t counted_peak = 0;  // the peak of the same step as the allocator itself counts it
  std::int64_t resident = 0;      // memory of the process after the step, as the operating system counts it
  std::int64_t lua = 0;           // what Lua's heap held before the steps, without garbage; 0: not asked for
  std::int64_t steps = 0;         // steps that were run

  // Bytes that the process holds beside tensors and Lua's heap: code, buffers of libraries, and memory that the
  // allocator keeps. Resident memory follows the peak of earlier steps, because the allocator gives little back between
  // steps.
  std::int64_t program() const { return std::max<std::int64_t>(resident - ledger.peak - lua, 0); }
  // The ledger's value with the members `counted_peak` and `resident`, and with the categories `lua` and `program`. The
  // categories sum to `resident` where the process holds at least the others.
  Value to_value() const;
};

// Runs the first steps of a fit on the CPU without a folder, and records the last of them; a shorter fit is recorded in
// its last step. From the third step on, gradients and the optimizer's state keep their size. Steps go on for 0.2 s at
// most while the loader, whose workers make batches ahead at their own pace, has not filled all of its buffers, and end
// before the first validation unless this comes before step number `steps`. The recipe's `on.start` is called. Not
// thread-safe: no other code may use the CPU's tensors meanwhile. Raises the errors of the fit.
RecordedMemory record_memory(const FitPlan& plan, std::int64_t steps = 3);

// The same for a task whose tensors are on the CPU, in a folder for temporary files: runs at least `steps` passes
// through its loops, for 0.2 s unless the task ends sooner, and records the one with the highest peak from pass `steps`
// on, or a shorter task's last one. Weights are those of models that lab.build has made; activations those that these
// models keep; a tensor that the loop's own operators make counts for the script. Raises the errors of the task, and
// Error{run} where no pass ended.
RecordedMemory record_task_memory(const Options& task, const RunSettings& settings, std::int64_t steps = 3);

}  // namespace trainlab

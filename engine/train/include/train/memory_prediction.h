// What memory the training step of a fit will take, before any of that memory is taken.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "train/fit_plan.h"
#include "train/memory_ledger.h"

namespace trainlab {

struct MemoryPrediction {
  MemoryLedger ledger;  // of an estimate: the peak and its categories only
  // Why this is an estimate by the layers' formulas; empty after two steps without values (tensor/dry_run.h).
  std::string estimated_because;
};

// The ledger of a training step of `rows` members side by side on the CPU (1: a plain fit), as MemoryRecorder would
// make it after the first steps, with all buffers of the loader. What the process holds already counts too; what a
// validation takes, and the copy of the best weights after it, do not. No function of the recipe is called: fits
// with a step, a loss or layers of the recipe's own are estimated, and so are fits whose optimizer reads values. Takes
// some milliseconds, and for convolutions and attention the time of a training step. `change` is done to a copy of the
// plan first, of which it may change loader.batch, accumulate, micro_batch, recompute, fuse_step, chunk_loss and
// offload_optimizer; an estimate takes no notice of it.
MemoryPrediction predict_memory(const FitPlan& plan, std::size_t rows = 1,
                                const std::function<void(FitPlan&)>& change = {});

// Bytes that a fit takes at its first validation, and keeps from then on: copies of the best weights, averages in the
// form in which they are validated, and the buffers of the validation part. The prediction does not count them.
std::int64_t kept_after_validation(const FitPlan& plan);
// The peak of the steps that follow the first validation: the predicted ledger's, together with these.
std::int64_t predicted_peak(const FitPlan& plan);

// The ledger of a step that is really taken on the CPU: the second of two steps on batches of zeros. The steps leave
// nothing behind. For plans whose step predict_memory() can predict; nullopt where zeros are no valid batch.
std::optional<MemoryLedger> measured_memory(const FitPlan& plan);

// "weights 96.0 MiB, gradients 96.0 MiB, …": the categories that are not empty; `text` writes a number of bytes.
std::string category_text(const MemoryLedger& ledger, std::string (*text)(double));
// "fit.model[3].Linear 64.0 MiB, …": the layers with most activations, at most three; empty where none is known.
std::string layer_text(const MemoryLedger& ledger, std::string (*text)(double));

}  // namespace trainlab

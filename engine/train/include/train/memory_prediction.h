// The two figures of the memory of a fit on the CPU, each under one name in all that is shown of it:
//
//   step      the most bytes of tensors at a time in a training step
//   training  the most bytes of tensors at any time of the fit: in a step after the first validation, which has left
//             copies of weights behind, or in a validation or the test
//
// All tensors of the process count in both, those from before the fit and the loader's buffers included. A prediction
// counts all buffers that the loader may fill, no more than the fit has batches, and all samples that the company of
// the fit may keep; a measurement what was there by then.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "train/fit_plan.h"
#include "train/memory_ledger.h"

namespace trainlab {

// A budget, or the limit of the process where this is less; 0: no limit.
std::int64_t memory_limit(std::int64_t budget);
// The most bytes that tensors of the fit may take, by its budget.
std::int64_t memory_limit(const FitPlan& plan);
// This limit; where there is none, what tensors hold now and what is free.
std::int64_t room_of(const FitPlan& plan);

struct TrainingMemory {
  MemoryLedger ledger;           // of a step; of a least amount: the peak and its categories only
  std::int64_t in_steps = 0;     // the most in the steps that follow the first validation
  std::int64_t in_measures = 0;  // the most in validations and the test; 0 where there are none
  std::int64_t batches = 0;      // of both: in the buffers of the loaders

  std::int64_t step() const { return ledger.peak; }
  std::int64_t training() const { return std::max(in_steps, in_measures); }
};

struct MemoryPrediction {
  TrainingMemory memory;
  // Why the figures are the least that the training takes, without activations, temporaries and tensors from before the
  // fit, and may be far from what it takes; empty after two steps without values (tensor/dry_run.h).
  std::string estimated_because;

  bool is_least() const { return !estimated_because.empty(); }
  // To be shown before a figure: "at least " where it is the least.
  const char* before_amount() const { return is_least() ? "at least " : ""; }
};

// The memory of a fit with `rows` members side by side on the CPU (1: a plain fit), as MemoryRecorder would measure it.
// Validations are predicted as they are made: in parts where a whole batch would pass the limit of the plan or of the
// process. What metrics take is left out. No function of the recipe is called: fits with a step, a loss or layers of
// the recipe's own, and fits whose optimizer reads values, have the least that they take. Takes some milliseconds, and
// for convolutions and attention the time of a training step. `change` is done to a copy of the plan first, of which it
// may change length, loader.batch, loader.threads, accumulate, micro_batch, recompute, fuse_step, chunk_loss,
// offload_optimizer, offload_activations and budget; the least amount takes no notice of it.
MemoryPrediction predict_memory(const FitPlan& plan, std::size_t rows = 1,
                                const std::function<void(FitPlan&)>& change = {});

// Whether a step that comes to a limit goes on in smaller parts.
bool goes_in_parts(const FitPlan& plan);
// The prediction for steps that go a sample at a time where `in_parts` is set, as they do at last at a limit.
MemoryPrediction predict_memory_in(bool in_parts, const FitPlan& plan, std::size_t rows = 1);

// The same of two steps on batches of zeros that are really taken on the CPU, and of evaluations. They leave nothing
// behind. For plans whose step predict_memory() can predict; nullopt where zeros are no valid batch.
std::optional<TrainingMemory> measured_memory(const FitPlan& plan);

// "weights 96.0 MiB, gradients 96.0 MiB, …": the categories that are not empty; `text` writes a number of bytes.
std::string category_text(const MemoryLedger& ledger, std::string (*text)(double));
// "fit.model[3].Linear 64.0 MiB, …": the layers with most activations, at most three; empty where none is known.
std::string layer_text(const MemoryLedger& ledger, std::string (*text)(double));

}  // namespace trainlab

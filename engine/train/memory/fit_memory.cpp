#include "fit_memory.h"

#include <algorithm>
#include <utility>

#include "core/host.h"
#include "core/trace.h"
#include "tensor/device.h"
#include "tensor/dry_run.h"
#include "tensor/file_memory.h"
#include "train/evaluator.h"
#include "train/memory_prediction.h"
#include "train/memory_recorder.h"
#include "what_fits.h"

namespace trainlab {

FitMemory::FitMemory(const FitPlan& plan, std::size_t rows)
    : plan_(plan),
      measured_{.rows = rows, .held_before = live_tensor_bytes()},
      batches_before_(tensor_memory().of(MemoryUse::batches)) {}

void FitMemory::fed_by(const Loader& loader) {
  if (!plan_.device.is_cpu() || (plan_.budget == 0 && tensor_memory_limit() == 0)) return;
  for_training_ = batches_before_ + block_bytes(loader.buffer_bytes(plan_.accumulate));
  evaluates(plan_.data.val, validations_of(plan_));
}

void FitMemory::evaluates(const std::optional<Part>& part, std::int64_t runs) {
  if (for_training_ == 0) return;
  for_batches_ = for_training_;
  if (part && plan_.measures()) for_batches_ += block_bytes(evaluation_buffers(plan_, *part, runs));
}

void FitMemory::record(const std::function<void()>& step) {
  // A thread has one listener for its spans, so a profile's listener is not replaced.
  if (!plan_.device.is_cpu() || trace::listener) return step();
  const bool is_kept = std::exchange(records_anew_, false);
  MemoryRecorder recorder(tensor_memory());
  {
    const MemoryListening memory(recorder);
    const Listening spans(recorder);
    step();
  }
  MemoryLedger ledger = recorder.ledger();
  if (!is_kept && !records_anew_ && measured_.step->peak >= ledger.peak) return;
  measured_.step = std::move(ledger);
  measured_.program = std::max<std::int64_t>(held_memory() - measured_.step->peak, 0);
}

void FitMemory::explain_step(TensorMemoryLimit& error, std::size_t rows) const {
  const MemoryPrediction least = predict_memory_in(goes_in_parts(plan_), plan_, rows);
  const MemoryLedger& ledger = least.memory.ledger;
  const bool is_known = ledger.phase == Phase::backward && !ledger.layer.empty();
  if (error.path().empty()) error.in(is_known ? ledger.layer : plan_.options.path());
  // Memory that no prediction knows of takes room from every choice of options.
  const std::int64_t predicted = least.memory.training() - live_tensor_bytes() + measured_.held_before;
  const std::int64_t unpredicted = least.is_least() ? 0 : std::max<std::int64_t>(error.needed() - predicted, 0);
  error.hint(what_fits(plan_, rows, memory_limit(plan_) - measured_.held_before - unpredicted));
}

void FitMemory::explain_evaluation(TensorMemoryLimit& error) const {
  if (error.path().empty()) error.in(plan_.options.path());
  error.hint("a smaller part to evaluate needs less memory where a metric keeps the scores of all samples");
}

Value FitMemory::summary(std::int64_t micro_batch) const {
  MeasuredMemory all = measured_;
  all.training = device_at(plan_.device).memory().peak;
  all.micro_batch = micro_batch;
  all.offloaded = peak_in_files();
  return memory_summary(plan_, all);
}

}  // namespace trainlab

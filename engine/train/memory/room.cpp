#include "room.h"

#include <optional>
#include <vector>

#include "tensor/dry_run.h"
#include "tensor/free_memory.h"
#include "tensor/memory.h"
#include "train/memory_prediction.h"
#include "training_buffers.h"
#include "what_fits.h"

namespace trainlab {
namespace {

// An error, without place and hint, that says what does not fit; nullopt where the training has room.
std::optional<Error> shortage(const FitPlan& plan, std::size_t rows) {
  if (!plan.device.is_cpu()) return std::nullopt;
  const bool is_limited = tensor_memory_limit() > 0, has_parts = is_limited && goes_in_parts(plan);
  const auto members = static_cast<double>(rows);
  const double weights = members * static_cast<double>(plan.parameter_count()) *
                         static_cast<double>(c10::elementSize(plan.precision.weights));
  const double kept = members * static_cast<double>(plan.loader.batch) *
                      (plan.model ? plan.model->kept_bytes(plan.precision.compute) : 0);
  double least = 4 * weights + kept;
  // Batches are never refused, so that a limit which the loader's buffers alone would pass has to be refused here.
  if (is_limited) {
    least += static_cast<double>(
        block_bytes(training_buffers(plan, plan.loader, plan.accumulate, std::vector<Key>(rows, Key(0)))));
  }
  if (!is_limited && least < static_cast<double>(large_memory) / 16) return std::nullopt;
  // Weights that cannot fit are refused by the model itself, whose error names a layer.
  const auto free = static_cast<double>(free_tensor_memory());
  if (weights > free || 8 * least < free) return std::nullopt;
  const MemoryPrediction predicted = predict_memory_in(has_parts, plan, rows);
  const MemoryLedger& ledger = predicted.memory.ledger;
  const double before = predicted.is_least() ? 0 : static_cast<double>(live_tensor_bytes());
  const double all = static_cast<double>(predicted.memory.training()) - before;
  const std::string trials = rows > 1 ? std::to_string(rows) + " trials side by side" : "the training";
  const std::string layers = layer_text(ledger, memory_text);
  try {
    check_free_memory(all, predicted.before_amount() + memory_text(all) + " for " + trials +
                               (has_parts ? ", a sample at a time; in a step " : "; in a step ") +
                               category_text(ledger, memory_text) +
                               (layers.empty() ? "" : "; most activations: " + layers));
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

}  // namespace

void check_room(const FitPlan& plan, std::size_t rows) {
  std::optional<Error> error = shortage(plan, rows);
  if (!error) return;
  error->hint(rows > 1 ? "`stack` says how many trials train side by side"
                       : what_fits(plan, rows, free_tensor_memory()));
  const Error here = plan.options.error("", "");
  throw error->in(plan.options.path()).at(here.file(), here.line());
}

bool has_room(const FitPlan& plan, std::size_t rows) { return !shortage(plan, rows); }

}  // namespace trainlab

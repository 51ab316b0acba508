#include "batch_view.h"

#include "core/callable.h"
#include "tensor/device.h"
#include "tensor/memory.h"
#include "tensor/operator_errors.h"

namespace trainlab {

BatchView view_of(const FitPlan& plan, const Batch& batch, std::int64_t members, Key key,
                  const std::weak_ptr<Object>& run, std::vector<at::Tensor>& moved) {
  moved.assign(batch.columns.begin(), batch.columns.end());
  device_at(plan.device).take(moved);
  return {
      .columns = moved, .index = batch.index, .size = batch.size, .members = members, .key = key, .run = run.lock()};
}

c10::SmallVector<at::Tensor, 4> model_inputs(const FitPlan& plan, const BatchView& view) {
  c10::SmallVector<at::Tensor, 4> inputs;
  for (const std::size_t column : plan.inputs) inputs.push_back(view.columns[column]);
  return inputs;
}

void raise_loss_error(const FitPlan& plan, const std::exception& exception) {
  // Whoever takes the step may train with smaller micro-batches then.
  if (dynamic_cast<const TensorMemoryLimit*>(&exception) != nullptr) throw;
  const Error plain = operator_error(exception);
  // The error of a function of the recipe has its own place.
  if (plain.kind() != ErrorKind::recipe || !plain.file().empty()) {
    if (dynamic_cast<const Error*>(&exception) != nullptr) throw;
    throw plain;
  }
  throw plan.options.error("loss", plain.headline()).hint(plain.hint());
}

}  // namespace trainlab

#include "profile/record_memory.h"

#include <optional>

#include "core/clock.h"
#include "core/error.h"
#include "core/host.h"
#include "layers/few_steps.h"
#include "steps/measure.h"
#include "steps/task_steps.h"
#include "tensor/memory.h"
#include "tensor/types.h"
#include "train/memory_prediction.h"
#include "train/memory_recorder.h"

namespace trainlab {
namespace {

// A recorder that also lets the allocator count the peak of each step.
class StepRecorder : public MemoryRecorder {
 public:
  using MemoryRecorder::MemoryRecorder;
  void began(Phase phase, std::string_view name) override {
    if (phase == Phase::step) reset_tensor_peak();
    MemoryRecorder::began(phase, name);
  }
  void ended(Phase phase, std::string_view name) noexcept override {
    MemoryRecorder::ended(phase, name);
    if (phase != Phase::step) return;
    ++steps;
    counted_peak = tensor_memory().peak;
    resident = held_memory();
  }
  RecordedMemory recorded() const {
    return {.ledger = ledger(), .counted_peak = counted_peak, .resident = resident, .steps = steps};
  }
  std::int64_t counted_peak = 0, resident = 0, steps = 0;
};

// Keeps the record of the step with the highest peak, from step number `first` on, counted from 1.
class HighestStepRecorder final : public StepRecorder {
 public:
  HighestStepRecorder(const TensorMemory& before, MemoryKind left, std::int64_t first)
      : StepRecorder(before, left), first_(first) {}
  void ended(Phase phase, std::string_view name) noexcept override {
    StepRecorder::ended(phase, name);
    if (phase == Phase::step && steps >= first_ && counted_peak >= highest_.counted_peak) highest_ = recorded();
  }
  // The record of the highest step, or of the last one where the training ended before `first`; `steps` counts all.
  RecordedMemory highest() const {
    RecordedMemory one = highest_.steps > 0 ? highest_ : recorded();
    one.steps = steps;
    return one;
  }

 private:
  const std::int64_t first_;
  RecordedMemory highest_;
};

// Seconds for which the loader may fill its buffers, with steps that take less: a small net trains sooner than that.
constexpr double most_filling = 0.2;

}  // namespace

Value RecordedMemory::to_value() const {
  Value all = ledger.to_value();
  Value categories = all["categories"];
  categories.set("lua", lua);
  categories.set("program", program());
  all.set("categories", std::move(categories));
  all.set("counted_peak", counted_peak);
  all.set("resident", resident);
  return all;
}

RecordedMemory record_memory(const FitPlan& plan, std::int64_t steps) {
  count_tensor_memory();
  const std::int64_t batches = predict_memory(plan).memory.ledger.of(MemoryKind::batches);
  const double until = steady_seconds() + most_filling;
  StepRecorder recorder(tensor_memory(), plan.step ? MemoryKind::script : MemoryKind::other);
  {
    const MemoryListening memory(recorder);
    const Listening spans(recorder);
    // The fit is left within the span of its last step, and so before a validation that follows this step: the
    // prediction is that of a step, and the loader of a validation keeps its buffers for the next one.
    const auto is_enough = [&] {
      return recorder.ledger().of(MemoryKind::batches) >= batches || recorder.steps + 1 >= plan.validate_every ||
             steady_seconds() > until;
    };
    with_torch_errors([&] { run_few_steps(plan, steps - 1, is_enough); });
  }
  return recorder.recorded();
}

RecordedMemory record_task_memory(const Options& task, const RunSettings& settings, std::int64_t steps) {
  count_tensor_memory();
  HighestStepRecorder recorder(tensor_memory(), MemoryKind::script, steps);
  std::optional<double> until;  // from the first pass on
  {
    // Nobody knows how many buffers a task's loaders will have filled at most, and whether a pass trains or validates.
    TaskStepSpans passes(recorder, [&](std::int64_t ended) {
      if (!until) until = steady_seconds() + most_filling;
      return ended >= steps && steady_seconds() > *until;
    });
    const MemoryListening memory(recorder);
    const Listening spans(recorder);
    run_task_steps(task, settings, passes);
  }
  if (recorder.steps == 0) throw run_error("no pass through a loop of the task has ended");
  return recorder.highest();
}

}  // namespace trainlab

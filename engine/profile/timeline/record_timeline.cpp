#include "core/clock.h"
#include "core/error.h"
#include "layers/few_steps.h"
#include "layers/listening_to_operators.h"
#include "pipeline/listening_to_loader.h"
#include "steps/measure.h"
#include "steps/task_steps.h"
#include "tensor/memory.h"
#include "tensor/types.h"
#include "timeline_recorder.h"

namespace trainlab {

Timeline record_timeline(FitPlan& plan, const TimelineLimits& limits) {
  count_tensor_memory();
  TimelineRecorder recorder(limits.bytes, plan.step_samples(), steady_seconds);
  {
    const ListeningToLoader loader(plan, recorder);
    const ListeningToOperators operators(recorder, Hearing::operators);
    const Listening spans(recorder);
    // The step after these is the last that is recorded. The fit is left within the span of that step.
    with_torch_errors([&] { run_few_steps(plan, limits.steps - 1); });
  }
  return recorder.take();
}

Timeline record_task_timeline(const Options& task, const RunSettings& settings, const TimelineLimits& limits) {
  count_tensor_memory();
  TimelineRecorder recorder(limits.bytes, 0, steady_seconds);
  {
    TaskStepSpans steps(recorder, [&](std::int64_t ended) { return ended >= limits.steps; });
    const ListeningToOperators operators(recorder, Hearing::operators);
    const Listening spans(recorder);
    run_task_steps(task, settings, steps);
  }
  Timeline timeline = recorder.take();
  if (timeline.steps == 0) throw run_error("no pass through a loop of the task has ended");
  return timeline;
}

}  // namespace trainlab

#include "core/clock.h"
#include "layers/few_steps.h"
#include "layers/listening_to_operators.h"
#include "pipeline/listening_to_loader.h"
#include "tensor/memory.h"
#include "tensor/types.h"
#include "timeline_recorder.h"

namespace trainlab {

Timeline record_timeline(FitPlan& plan, const TimelineLimits& limits) {
  count_tensor_memory();
  TimelineRecorder recorder(limits.events, plan.step_samples(), steady_seconds);
  {
    const ListeningToLoader loader(plan, recorder);
    const ListeningToOperators operators(recorder, false);
    const Listening spans(recorder);
    // The step after these is the last that is recorded. The fit is left within the span of that step.
    with_torch_errors([&] { run_few_steps(plan, limits.steps - 1); });
  }
  return recorder.take();
}

}  // namespace trainlab

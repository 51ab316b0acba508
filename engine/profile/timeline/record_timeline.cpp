#include "core/clock.h"
#include "core/error.h"
#include "layers/few_steps.h"
#include "layers/listening_to_operators.h"
#include "pipeline/listening_to_loader.h"
#include "steps/measure.h"
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

namespace {

// Tells the recorder of the steps of a task, which have no spans, until there are enough.
class RecordedTaskSteps final : public TaskStepListener {
 public:
  RecordedTaskSteps(TimelineRecorder& recorder, std::int64_t steps) : recorder_(recorder), left_(steps) {}
  void step_began() override {
    in_step_ = true;
    recorder_.began(Phase::step, {});
  }
  void step_ended() noexcept override {
    recorder_.ended(Phase::step, {});
    in_step_ = false;
    --left_;
  }
  bool in_step() const override { return in_step_; }
  bool is_done() const override { return left_ <= 0; }

 private:
  TimelineRecorder& recorder_;
  bool in_step_ = false;
  std::int64_t left_;
};

}  // namespace

Timeline record_task_timeline(const Options& task, const RunSettings& settings, const TimelineLimits& limits) {
  count_tensor_memory();
  TimelineRecorder recorder(limits.events, 0, steady_seconds);
  {
    RecordedTaskSteps steps(recorder, limits.steps);
    const ScratchFolder folder;
    const ListeningToOperators operators(recorder, false);
    const Listening spans(recorder);
    with_torch_errors([&] {
      run_measured_task({.stage = task, .settings = settings, .say = [](const std::string&) {}}, folder, steps);
    });
  }
  Timeline timeline = recorder.take();
  if (timeline.steps == 0) throw run_error("the task ended before its first step");
  return timeline;
}

}  // namespace trainlab

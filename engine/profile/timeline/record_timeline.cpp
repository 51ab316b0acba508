#include <ATen/record_function.h>

#include "layers/few_steps.h"
#include "pipeline/listening_to_loader.h"
#include "tensor/memory.h"
#include "tensor/types.h"
#include "timeline_recorder.h"

namespace trainlab {
namespace {

thread_local TimelineRecorder* told = nullptr;

std::unique_ptr<at::ObserverContext> operation_began(const at::RecordFunction& function) {
  told->operation_began(function.name());
  return nullptr;
}

void operation_ended(const at::RecordFunction&, at::ObserverContext*) { told->operation_ended(); }

// While the object lives, the recorder is told of the operators and of the functions of backward passes on this thread.
class ListeningToOperators {
 public:
  explicit ListeningToOperators(TimelineRecorder& recorder)
      : handle_(at::addThreadLocalCallback(
            at::RecordFunctionCallback(operation_began, operation_ended)
                .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}))) {
    told = &recorder;
  }
  ~ListeningToOperators() {
    at::removeCallback(handle_);
    told = nullptr;
  }
  ListeningToOperators(const ListeningToOperators&) = delete;

 private:
  at::CallbackHandle handle_;
};

}  // namespace

Timeline record_timeline(FitPlan& plan, const TimelineLimits& limits) {
  count_tensor_memory();
  TimelineRecorder recorder(limits.events, plan.loader.batch * plan.accumulate);
  {
    const ListeningToLoader loader(plan, recorder);
    const ListeningToOperators operators(recorder);
    const Listening spans(recorder);
    // The step after these few is the last that is recorded: the fit is left within its span.
    with_torch_errors([&] { run_few_steps(plan, limits.steps - 1); });
  }
  return recorder.take();
}

}  // namespace trainlab

#include <exception>
#include <memory>

#include "core/host.h"
#include "profile/memory_ledger.h"
#include "tensor/memory.h"
#include "tensor/types.h"
#include "train/fit.h"

namespace trainlab {
namespace {

// Raised to leave the fit after the last step that is wanted.
class Recorded final : public std::exception {};

class EndsFit final : public LoopObserver {
 public:
  explicit EndsFit(std::int64_t steps) : steps_(steps) {}
  void stepped(std::int64_t step) override {
    done = step;
    if (step >= steps_) throw Recorded();
  }
  std::int64_t done = 0;

 private:
  const std::int64_t steps_;
};

// Lets the allocator count the peak of each step, too.
class StepRecorder final : public MemoryRecorder {
 public:
  using MemoryRecorder::MemoryRecorder;
  void began(Phase phase, std::string_view name) override {
    if (phase == Phase::step) reset_tensor_peak();
    MemoryRecorder::began(phase, name);
  }
  void ended(Phase phase, std::string_view name) noexcept override {
    MemoryRecorder::ended(phase, name);
    if (phase != Phase::step) return;
    counted_peak = tensor_memory().peak;
    resident = held_memory();
  }
  std::int64_t counted_peak = 0, resident = 0;
};

}  // namespace

Value RecordedMemory::to_value() const {
  Value all = ledger.to_value();
  Value categories = all["categories"];
  categories.set("program", program());
  all.set("categories", std::move(categories));
  all.set("resident", resident);
  return all;
}

RecordedMemory record_memory(const FitPlan& plan, std::int64_t steps) {
  count_tensor_memory();
  StageContext context;
  context.name = plan.options.string("name");
  context.say = [](const std::string&) {};
  const FitMember member{.options = plan.options, .context = std::move(context), .shows_progress = false};
  const auto ends = std::make_shared<EndsFit>(steps);
  StepRecorder recorder(tensor_memory());
  {
    const MemoryListening memory(recorder);
    const Listening spans(recorder);
    try {
      with_torch_errors([&] { run_fits(plan, {&member, 1}, false, {.observers = {ends}}); });
    } catch (const Recorded&) {
      // as asked
    }
  }
  return {.ledger = recorder.ledger(),
          .counted_peak = recorder.counted_peak,
          .resident = recorder.resident,
          .steps = ends->done};
}

}  // namespace trainlab

#include "few_steps.h"

#include "train/fit.h"

namespace trainlab {
namespace {

class EndsAfter final : public LoopObserver {
 public:
  explicit EndsAfter(std::int64_t steps) : steps_(steps) {}
  // This call comes within the span of the step. The span of the last wanted step must end as usual before the fit
  // stops.
  void stepped(std::int64_t step) override {
    if (step > steps_) throw SeenEnough();
  }

 private:
  std::int64_t steps_;
};

}  // namespace

Value run_few_steps(const FitPlan& plan, std::int64_t steps) {
  const FitMember member{.options = plan.options, .context = silent_context(plan.options), .shows_progress = false};
  const FitCompany company{.observers = {std::make_shared<EndsAfter>(steps)}, .passes = {}};
  try {
    return run_fits(plan, {&member, 1}, false, company).front();
  } catch (const SeenEnough&) {
    return {};
  }
}

}  // namespace trainlab

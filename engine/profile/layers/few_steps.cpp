#include "few_steps.h"

#include "train/fit.h"

namespace trainlab {

namespace {

// The span of the last step must end before the fit is left, so that this is done in a step after it.
class EndsInLaterStep final : public LoopObserver {
 public:
  EndsInLaterStep(std::int64_t steps, const std::function<bool()>& is_enough) : steps_(steps), is_enough_(is_enough) {}
  void stepped(std::int64_t step) override {
    if (step > steps_ && (!is_enough_ || is_enough_())) throw SeenEnough();
  }

 private:
  std::int64_t steps_;
  const std::function<bool()>& is_enough_;
};

}  // namespace

Value run_few_steps(const FitPlan& plan, std::int64_t steps, const std::function<bool()>& is_enough) {
  const FitMember member{.options = plan.options, .context = silent_context(plan.options), .shows_progress = false};
  const FitCompany company{.observers = {std::make_shared<EndsInLaterStep>(steps, is_enough)}, .passes = {}};
  try {
    return run_fits(plan, {&member, 1}, false, company).front();
  } catch (const SeenEnough&) {
    return {};
  }
}

}  // namespace trainlab

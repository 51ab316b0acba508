#include "few_steps.h"

#include "train/fit.h"

namespace trainlab {
namespace {

// Raised in the step after the last one that is wanted: an end of the fit itself would evaluate the test part.
struct EnoughSteps {};

class EndsAfter final : public LoopObserver {
 public:
  explicit EndsAfter(std::int64_t steps) : steps_(steps) {}
  // Told within the span of the step, which for the last wanted step is to end as usual.
  void stepped(std::int64_t step) override {
    if (step > steps_) throw EnoughSteps();
  }

 private:
  std::int64_t steps_;
};

}  // namespace

Value run_few_steps(const FitPlan& plan, std::int64_t steps) {
  StageContext context;
  context.name = plan.options.string("name");
  context.say = [](const std::string&) {};
  const FitMember member{.options = plan.options, .context = std::move(context), .shows_progress = false};
  const FitCompany company{.observers = {std::make_shared<EndsAfter>(steps)}, .passes = {}};
  try {
    return run_fits(plan, {&member, 1}, false, company).front();
  } catch (const EnoughSteps&) {
    return {};
  }
}

}  // namespace trainlab

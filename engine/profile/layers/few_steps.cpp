#include "few_steps.h"

#include "train/fit.h"

namespace trainlab {

void run_few_steps(const FitPlan& plan, std::int64_t steps, const std::function<bool()>& is_enough) {
  const FitMember member{.options = plan.options, .context = silent_context(plan.options), .shows_progress = false};
  // The span of the last step must end before the fit is left.
  const FitCompany company{.observers = {std::make_shared<EndsAfter>(steps + 1, is_enough)}, .passes = {}};
  try {
    run_fits(plan, {&member, 1}, false, company);
  } catch (const SeenEnough&) {  // the steps are over
  }
}

}  // namespace trainlab

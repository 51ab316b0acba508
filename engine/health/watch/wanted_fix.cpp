#include "wanted_fix.h"

#include "core/error.h"
#include "model/initial.h"

namespace trainlab {
namespace {

// A training that three fixes have not healed has a fault of another kind.
constexpr std::size_t most_fixes = 3;

// Whether the recipe has a say in the option: sizes of batches that the fit has chosen by itself for a budget of memory
// stay, and so do trained weights.
bool is_open(const FitPlan& plan, FixedOption option) {
  switch (option) {
    case FixedOption::clip: return !plan.options.given("clip");
    case FixedOption::batch:
    case FixedOption::accumulate: return !is_auto_batch(plan.options) && plan.budget == 0;
    case FixedOption::init: return !stored_for_whole(plan.options, "init");
    case FixedOption::lr:
    case FixedOption::normalize: return true;
  }
  return false;
}

}  // namespace

std::optional<Fix> wanted_fix(const HealthVerdict& verdict, const FitPlan& plan, const RunSettings& settings) {
  if (!verdict.cure || verdict.confidence == "low" || plan.fixes.size() >= most_fixes) return std::nullopt;
  const Cure& cure = *verdict.cure;
  if (!is_open(plan, cure.option)) return std::nullopt;
  Fix fix{.kind = std::string(name_of(verdict.kind)),
          .step = verdict.step,
          .evidence = verdict.evidence,
          .option = cure.option,
          .value = cure.value,
          .good_until = cure.good_until};
  try {
    const Options fixed = with_fixes(plan.options, {fix});
    if (fixed.value() == plan.options.value()) return std::nullopt;
    RunSettings planned = settings;
    planned.fixes.clear();
    if (!plan.chosen.is_nil()) planned.chosen = plan.chosen;
    plan_fit(fixed, planned, cure.option == FixedOption::normalize ? nullptr : &plan.data);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::recipe) throw;
    return std::nullopt;
  }
  return fix;
}

}  // namespace trainlab

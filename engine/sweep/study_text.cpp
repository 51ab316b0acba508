// The text that `trainlab check` prints about a sweep or an ensemble.
#include <fmt/format.h>

#include "stacking.h"
#include "sweep_entry.h"
#include "task/task.h"
#include "train/fit.h"

namespace trainlab {

std::string describe_study(const StudyPlan& plan, const CheckedToo& too) {
  const Options& stage = plan.options();
  const Options& fit = plan.example();
  std::string text = fmt::format("{} \"{}\": {}", stage.entry().name, stage.string("name"), plan.text());
  for (const Objective& one : plan.objectives())
    text += fmt::format("{:<14} {}, {} is better\n", "metric", one.metric, one.maximize ? "greater" : "smaller");
  std::optional<FitPlan> planned;
  if (!plan.runs_tasks()) planned.emplace(plan.plan_fit(fit));
  const std::int64_t stack = !planned || structure_of(fit).empty() ? 1 : plan.stack_of(*planned);
  text += fmt::format("{:<14} {}, {} thread{} each, {}\n", "workers", plan.workers(), plan.settings().threads,
                      plan.settings().threads == 1 ? "" : "s",
                      stack > 1 ? fmt::format("up to {} fits of one structure at a time", stack)
                      : planned ? "one fit at a time"
                                : "one task at a time");
  if (planned) return text + "\nthe fit of one trial\n" + check_fit(std::move(*planned), too);
  return text + "\nthe task of one trial\n" + check_task(fit, plan.settings(), too);
}

}  // namespace trainlab

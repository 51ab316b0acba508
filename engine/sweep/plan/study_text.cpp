// The text of `trainlab check` for a sweep or an ensemble.
#include <fmt/format.h>

#include <algorithm>

#include "core/words.h"
#include "sweep_entry.h"
#include "task/task.h"
#include "train/fit.h"
#include "train/stacking.h"

namespace trainlab {

Checked describe_study(const StudyPlan& plan, const CheckedToo& too) {
  const Options& stage = plan.options();
  const Options& fit = plan.example();
  std::string text = fmt::format("{} \"{}\": {}", stage.entry().name, stage.string("name"), plan.text());
  for (const Objective& one : plan.objectives())
    text += fmt::format("{:<14} {}, {} is better\n", "metric", one.metric, one.maximize ? "greater" : "smaller");
  std::optional<FitPlan> planned;
  if (!plan.runs_tasks()) planned.emplace(plan.plan_fit(fit));
  const std::int64_t stack = !planned || structure_of(fit).empty() ? 1 : plan.stack_of(*planned);
  text += fmt::format("{:<14} {}, {} each, {}\n", "workers", plan.workers(), counted(plan.settings().threads, "thread"),
                      stack > 1 ? fmt::format("up to {} fits of one structure at a time", stack)
                      : planned ? "one fit at a time"
                                : "one task at a time");
  Value::Map facts{{"name", stage.string("name")}, {"kind", stage.entry().name},         {"where", stage.where()},
                   {"workers", plan.workers()},    {"threads", plan.settings().threads}, {"stack", stack}};
  if (plan.terms().trials < StudyTerms::no_limit) facts["trials"] = plan.terms().trials;
  facts["seeds"] = plan.terms().repeats;
  Value::List objectives;
  for (const Objective& one : plan.objectives())
    objectives.push_back(Value::Map{{"metric", one.metric}, {"goal", one.maximize ? "max" : "min"}});
  facts["objectives"] = std::move(objectives);
  for (const char* option : {"space", "sampler", "scheduler", "pruner", "confirm"}) {
    if (std::ranges::find(stage.entry().options, option, &Option::name) != stage.entry().options.end() &&
        stage.has(option))
      facts[option] = stage.get(option);
  }
  Checked trial = planned ? check_fit(std::move(*planned), too) : check_task(fit, plan.settings(), too);
  facts["trial"] = std::move(trial.facts);
  return {.text = text + "\nthe " + (planned ? "fit" : "task") + " of one trial\n" + trial.text,
          .facts = std::move(facts)};
}

}  // namespace trainlab

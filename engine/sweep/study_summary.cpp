#include "study_summary.h"

#include <algorithm>

#include "study/ranking.h"

namespace trainlab {

Value trial_value(const StudyPlan& plan, const SharedStudy& study, std::int64_t trial) {
  const Trials& trials = study.study().trials();
  Value::Map map{{"trial", trial}, {"params", plan.terms().space.params(trials.point(trial))}};
  if (plan.objectives().size() == 1) {
    map["value"] = trials.value(trial);
  } else {
    Value::List values;
    for (const double x : trials.values(trial)) values.emplace_back(x);
    map["values"] = std::move(values);
  }
  if (plan.terms().repeats > 1) map["seed_values"] = study.stored(trial).info["seed_values"];
  return map;
}

namespace {

// In order of number.
Value::List pareto(const StudyPlan& plan, const SharedStudy& study) {
  std::vector<std::size_t> places = pareto_front(study.stored(), study.study().maximize());
  std::ranges::sort(places);
  Value::List front;
  for (const std::size_t trial : places) front.push_back(trial_value(plan, study, static_cast<std::int64_t>(trial)));
  return front;
}

}  // namespace

Value::List stored_warnings(const SharedStudy& study) {
  Value::List all;
  for (const StoredTrial& trial : study.stored()) {
    const Value& warnings = trial.info["warnings"];
    if (!warnings.is_list()) continue;
    for (const Value& one : warnings.list())
      if (std::ranges::find(all, one) == all.end()) all.push_back(one);
  }
  return all;
}

Value sweep_summary(const StudyPlan& plan, const SharedStudy& study, const std::optional<std::string>& stopped) {
  const Trials& trials = study.study().trials();
  Value::Map counts;
  for (const TrialState state :
       {TrialState::waiting, TrialState::running, TrialState::complete, TrialState::pruned, TrialState::failed})
    counts.emplace(trial_state_name(state), trials.count(state));
  Value summary = Value::Map{{"trials", std::move(counts)},
                             {"status", stopped ? "stopped" : "done"},
                             {"reason", stopped                               ? *stopped
                                        : trials.size() < plan.terms().trials ? "the space is used up"
                                                                              : "all trials have ended"},
                             {"seed", plan.terms().seed}};
  if (plan.objectives().size() == 1) {
    summary.set("metric", plan.objectives().front().metric);
    summary.set("goal", plan.objectives().front().maximize ? "max" : "min");
    if (study.study().best()) summary.set("best", trial_value(plan, study, *study.study().best()));
  } else {
    Value::List metrics, goals;
    for (const Objective& one : plan.objectives()) {
      metrics.emplace_back(one.metric);
      goals.emplace_back(one.maximize ? "max" : "min");
    }
    summary.set("metric", std::move(metrics));
    summary.set("goal", std::move(goals));
    summary.set("pareto", pareto(plan, study));
  }
  if (!study.study().best()) {
    std::string reason = "no trial is complete";
    for (std::int64_t t = 0; t < trials.size(); ++t) {
      if (trials.state(t) != TrialState::failed) continue;
      const Value& why = study.stored(t).info["reason"];
      if (why.is_string()) reason += "; trial " + std::to_string(t) + " failed: " + why.string();
      break;
    }
    summary.set("status", "failed");
    summary.set("reason", reason);
  }
  return summary;
}

}  // namespace trainlab

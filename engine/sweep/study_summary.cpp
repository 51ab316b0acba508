#include "study_summary.h"

#include <algorithm>
#include <cmath>

#include "run/folder.h"
#include "study/failures.h"
#include "study/ranking.h"
#include "trials/trial_flops.h"
#include "trials/trial_folder.h"

namespace trainlab {

namespace fs = std::filesystem;

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

// With one of the trials that failed alike, if there is one whose training has left a summary to look at.
Value failures_value(const Failures& failures, const fs::path& folder) {
  Value::Map map{{"count", failures.count},
                 {"ended", failures.ended},
                 {"alike", std::ssize(failures.alike)},
                 {"reason", failures.reason},
                 {"trial", failures.alike.front()}};
  for (const std::int64_t trial : failures.alike) {
    const fs::path left = TrialFolder(folder, trial).ended(1);
    if (!fs::exists(left / "summary.json")) continue;
    map["trial"] = trial;
    map["folder"] = left.lexically_relative(folder).string();
    break;
  }
  return map;
}

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

double own_flops(const SharedStudy& study, const StoredTrial& trial) {
  if (!trial.info["duplicate_of"].is_nil()) return 0;
  const Value &flops = trial.info["flops"], &parent = trial.info["parent"];
  if (!flops.is_number()) return is_final(trial.state) && trial.state != TrialState::failed ? std::nan("") : 0;
  const Value& before = parent.is_integer() ? study.stored(parent.integer()).info["flops"] : parent;
  // A trial that failed before its first step, or before the steps that its failed parent had begun, has used nothing.
  return std::max(flops.number() - (before.is_number() ? before.number() : 0), 0.0);
}

namespace {

// Calls `use(summary, repeat)` for the repeats of a trial under way that were interrupted or have ended.
template <class Use>
void for_each_under_way(const StoredTrial& trial, const fs::path& stage, Use&& use) {
  const TrialFolder folder(stage, trial.number);
  for (std::int64_t repeat = 1; fs::exists(folder.under_way(trial.attempt, repeat)); ++repeat) {
    try {
      use(read_summary(folder.under_way(trial.attempt, repeat)), repeat);
    } catch (const Error&) {
      // Damage, which whoever takes the trial will tell.
    }
  }
}

double flops_under_way(const SharedStudy& study, const StoredTrial& trial, const fs::path& stage) {
  double sum = 0;
  for_each_under_way(trial, stage, [&](const Value& summary, std::int64_t repeat) {
    const Value& flops = summary["flops"];
    if (flops.is_number()) sum += flops.number() - inherited_flops(stage, study.study().segment(trial.number), repeat);
  });
  return sum;
}

}  // namespace

double flops_of(const SharedStudy& study, const fs::path& folder) {
  double sum = 0;
  for (const StoredTrial& trial : study.stored())
    sum += is_final(trial.state) ? own_flops(study, trial) : flops_under_way(study, trial, folder);
  return sum;
}

Value::List health_of(const SharedStudy& study) {
  constexpr std::size_t most_examples = 8;
  std::vector<Value> kinds;
  std::int64_t ended = 0;
  for (const StoredTrial& trial : study.stored()) {
    if (!is_final(trial.state) || !trial.info["duplicate_of"].is_nil()) continue;
    ++ended;
    const Value& health = trial.info["health"];
    if (!health.is_list()) continue;
    for (const Value& verdict : health.list()) {
      auto found = std::ranges::find_if(kinds, [&](const Value& one) { return one["kind"] == verdict["kind"]; });
      if (found == kinds.end()) {
        kinds.push_back(verdict);
        found = std::prev(kinds.end());
        found->set("count", 0);
        found->set("trials", Value::List());
      }
      found->set("count", (*found)["count"].integer() + 1);
      Value::List trials = (*found)["trials"].list();
      if (trials.size() < most_examples) trials.emplace_back(trial.number);
      found->set("trials", std::move(trials));
    }
  }
  std::ranges::stable_sort(kinds, std::ranges::greater{}, [](const Value& one) { return one["count"].integer(); });
  for (Value& one : kinds) one.set("ended", ended);
  return {kinds.begin(), kinds.end()};
}

Value efficiency_of(const SharedStudy& study) {
  std::int64_t judged = 0, compute = 0, data = 0;
  for (const StoredTrial& trial : study.stored()) {
    const Value& wastes = trial.info["wastes"];
    if (!is_final(trial.state) || !wastes.is_list()) continue;
    ++judged;
    compute += std::ranges::count(wastes.list(), Value("compute_inefficient"));
    data += std::ranges::count(wastes.list(), Value("data_inefficient"));
  }
  if (judged == 0) return {};
  return Value::Map{{"judged", judged}, {"compute_inefficient", compute}, {"data_inefficient", data}};
}

SpeedFigures speed_of(const SharedStudy& study, const fs::path& folder) {
  SpeedFigures all;
  for (const StoredTrial& trial : study.stored()) {
    if (is_final(trial.state)) {
      all.add(trial.info["speed"]);
    } else {
      for_each_under_way(trial, folder, [&](const Value& summary, std::int64_t) { all.add(summary["speed"]["sums"]); });
    }
  }
  return all;
}

Value sweep_summary(const StudyPlan& plan, const SharedStudy& study, const std::optional<std::string>& stopped,
                    const fs::path& folder) {
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
  const std::optional<Failures> failures = failures_of(study.stored());
  if (failures) summary.set("failures", failures_value(*failures, folder));
  if (!study.study().best()) {
    summary.set("status", "failed");
    summary.set("reason", "no trial is complete" + (failures ? ": " + text_of(*failures) : ""));
  }
  return summary;
}

}  // namespace trainlab

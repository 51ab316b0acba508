#include "trials/trial_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/number_or_nil.h"
#include "run/budget.h"

namespace trainlab {

namespace {

// The remaining repeats of a trial are not run when a trial as good as the best would look this bad with less than this
// probability.
constexpr double hopeless_below = 0.1;

// Nothing for a repeat that has not ended.
std::optional<double> value_of(const StudyPlan& plan, const TrialFit& fit, std::size_t objective) {
  const Value& value = fit.summary["metrics"][plan.objectives()[objective].metric];
  if (fit.summary.is_nil()) return std::nullopt;
  return value.is_number() ? value.number() : std::nan("");
}

}  // namespace

bool is_cut_short(const Value& summary) {
  const Value& reason = summary["reason"];
  return reason.is_string() && is_of_run_budget(reason.string());
}

// A trial all of whose repeats are worse than all of the best trial's: of equally good ones that is one order of
// C(n + m, n), the exact tail of the Mann–Whitney test.
std::optional<std::string> hopeless(const StudyPlan& plan, SharedStudy& study, const BuiltTrial& trial) {
  if (plan.terms().repeats == 1 || plan.objectives().size() > 1) return std::nullopt;
  study.follow();
  const std::int64_t visible =
      plan.terms().is_deterministic ? Study::visible(trial.trial->lease.trial) : study.study().trials().size();
  const bool maximize = plan.objectives().front().maximize;
  const auto better = [&](double a, double b) { return maximize ? a > b : a < b; };
  const Trials& trials = study.study().trials();
  std::optional<std::int64_t> best;
  for (std::int64_t other = 0; other < visible; ++other) {
    if (trials.state(other) != TrialState::complete) continue;
    if (!best || better(trials.value(other), trials.value(*best))) best = other;
  }
  if (!best) return std::nullopt;
  const Value& values = study.stored(*best).info["seed_values"];
  if (!values.is_list()) return std::nullopt;
  double orders = 1, own = 0;
  for (const TrialFit& fit : trial.fits) {
    const std::optional<double> value = value_of(plan, fit, 0);
    if (!value) continue;
    for (const Value& other : values.list()) {
      if (!other.is_number() || !better(other.number(), *value)) return std::nullopt;
    }
    ++own;
    orders *= (static_cast<double>(values.list().size()) + own) / own;
  }
  if (own >= static_cast<double>(plan.terms().repeats) || 1 / orders > hopeless_below) return std::nullopt;
  return fmt::format("hopeless: all of its {:.0f} repeats are worse than all of trial {}'s", own, *best);
}

namespace {

// What was found to be wrong with the fits of a trial, each kind of fault once. What is only suspected does not count:
// a search tries rates that may be better.
Value::List faults_of(const BuiltTrial& trial) {
  Value::List all;
  for (const TrialFit& fit : trial.fits) {
    const Value& health = fit.summary["health"];
    if (!health.is_list()) continue;
    for (const Value& verdict : health.list()) {
      const auto is_same = [&](const Value& other) { return other["kind"] == verdict["kind"]; };
      if (verdict["confidence"] != Value("low") && std::ranges::none_of(all, is_same)) all.push_back(verdict);
    }
  }
  return all;
}

// The whole validations of a segment that a budget has ended; nullopt for one that has its end. With a scheduler a
// trial has one fit.
std::optional<std::int64_t> end_of_cut(TrialPlans& plans, const BuiltTrial& trial) {
  if (trial.trial->segment.until == 0 || trial.fits.empty() || !is_cut_short(trial.fits.front().summary))
    return std::nullopt;
  const TrialFit& fit = trial.fits.front();
  return fit.summary["steps"].integer() / plans.of(fit)->validate_every;
}

// The flags of the fits of a trial, "compute_inefficient" or "data_inefficient", each once; nil where none of the
// fits was judged.
Value wastes_of(const BuiltTrial& trial) {
  std::optional<Value::List> all;
  for (const TrialFit& fit : trial.fits) {
    const Value& flags = fit.summary["efficiency"]["flags"];
    if (!flags.is_list()) continue;
    if (!all) all.emplace();
    for (const Value& flag : flags.list()) {
      if (std::ranges::count(*all, flag) == 0) all->push_back(flag);
    }
  }
  return all ? Value(std::move(*all)) : Value();
}

}  // namespace

TrialEnd end_of(const StudyPlan& plan, const SharedStudy& study, TrialPlans& plans, const BuiltTrial& trial) {
  TrialEnd end;
  const std::size_t objectives = plan.objectives().size();
  std::vector<std::vector<double>> values(objectives);
  std::map<std::string, std::vector<double>> metrics;
  Value::List seed_values;
  double seconds = 0, flops = 0;
  SpeedFigures measured;
  std::int64_t stack = 1;
  std::string failure = trial.failure;
  for (const TrialFit& fit : trial.fits) {
    measured.add(fit.measured);
    if (fit.summary.is_nil()) {
      if (fit.lost_steps > 0) flops += plans.of(fit)->flops_until(fit.lost_steps);
      if (failure.empty() && !trial.trial->pruned) end.interrupted = true;
      continue;
    }
    if (fit.summary["status"] == Value("interrupted")) end.interrupted = true;
    if (fit.summary["status"] == Value("failed") && failure.empty()) {
      failure =
          (trial.fits.size() > 1 ? "repeat " + std::to_string(fit.repeat) + ": " : "") + fit.summary["reason"].string();
    }
    for (std::size_t k = 0; k < objectives; ++k) values[k].push_back(*value_of(plan, fit, k));
    seed_values.push_back(values[0].back());
    for (const auto& [name, value] : fit.summary["metrics"].map())
      metrics[name].push_back(value.is_number() ? value.number() : std::nan(""));
    seconds += fit.summary["seconds"].number();
    flops += fit.summary["flops"].is_number() ? fit.summary["flops"].number() : std::nan("");
    stack = std::max(stack, fit.summary["stack"].is_integer() ? fit.summary["stack"].integer() : 1);
  }
  Value::Map means;
  for (const auto& [name, all] : metrics) means.emplace(name, plan.terms().aggregate(all));
  end.info = Value::Map{{"seed_values", std::move(seed_values)},
                        {"metrics", std::move(means)},
                        {"seconds", seconds},
                        {"flops", finite_or_nil(flops)},
                        {"parent", trial.trial->segment.parent ? Value(*trial.trial->segment.parent) : Value()},
                        {"ran", stack > 1 ? "stack of " + std::to_string(stack) : std::string("alone")}};
  if (measured.wall > 0) end.info.set("speed", measured.sums());
  if (Value::List faults = faults_of(trial); !faults.empty()) end.info.set("health", std::move(faults));
  if (Value wastes = wastes_of(trial); !wastes.is_nil()) end.info.set("wastes", std::move(wastes));
  end.until = end_of_cut(plans, trial);
  if (!failure.empty()) {
    end.state = TrialState::failed;
    end.info.set("reason", failure);
  } else if (trial.trial->pruned) {
    end.state = TrialState::pruned;
    end.values = study.study().trials().last_mean(trial.trial->lease.trial);
    end.info.set("reason", *trial.trial->pruned);
  } else {
    for (const auto& all : values) end.values.push_back(plan.terms().aggregate(all));
    for (std::size_t k = 0; k < objectives; ++k) {
      if (std::isnan(end.values[k])) end.info.set("reason", plan.objectives()[k].metric + " is not a number");
    }
  }
  return end;
}

}  // namespace trainlab

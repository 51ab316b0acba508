#include "trials/trial_watch.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/clock.h"

namespace trainlab {

namespace {

// Without a pruner nobody waits for a report: several are one transaction.
constexpr double report_seconds = 1;

}  // namespace

Reports::Reports(const StudyPlan& plan, SharedStudy& study, const Pruner* pruner, std::function<void()> reported)
    : plan_(plan), study_(study), pruner_(pruner), reported_(std::move(reported)), flushed_(steady_seconds()) {}

void Reports::add(const LeasedTrial& trial, const TrialReport& report) {
  Pending& pending = pending_[trial.lease.trial];
  pending.lease = trial.lease;
  pending.reports.push_back(report);
  if (!pruner_ && steady_seconds() - flushed_ > report_seconds) flush();
  reported_();
}

void Reports::flush() {
  flushed_ = steady_seconds();
  while (!pending_.empty()) {
    const auto first = pending_.begin();
    study_.report(first->second.lease, first->second.reports);
    pending_.erase(first);
  }
}

void Reports::judge(LeasedTrial& trial, std::int64_t resource) {
  if (!pruner_ || trial.pruned || trial.judged >= resource) return;
  trial.judged = resource;
  flush();
  study_.follow();
  // A deterministic study prunes by what it would know whatever the number of processes.
  const Trials& trials = study_.study().trials();
  const std::int64_t own = trial.lease.trial;
  const Curves curves(trials, study_.study().maximize(),
                      plan_.terms().is_deterministic ? Study::visible(own) : trials.size());
  if (!pruner_->prunes(curves, own)) return;
  trial.pruned = "pruned after " + std::to_string(resource) + " validations, at " + plan_.objectives().front().metric +
                 " " + number_text(trials.last_mean(own).front());
}

void Reports::begin(LeasedTrial& trial, std::int64_t repeat, std::int64_t resource) {
  study_.forget(trial.lease, repeat, resource);
  if (const auto found = pending_.find(trial.lease.trial); found != pending_.end()) {
    std::erase_if(found->second.reports,
                  [&](const TrialReport& one) { return one.repeat == repeat && one.resource > resource; });
  }
  trial.judged = std::min(trial.judged, resource);
}

void TrialWatch::report(std::vector<double> values) {
  ++resource_;
  reports_.add(trial_, {.repeat = repeat_, .resource = resource_, .values = std::move(values)});
}

std::optional<std::string> TrialWatch::validated(const Progress& progress) {
  std::vector<double> values;
  for (const Objective& one : plan_.objectives())
    values.push_back(is_of_test(one) ? std::nan("") : progress.metric(one.metric));
  report(std::move(values));
  if (trial_.segment.until > 0 && resource_ >= trial_.segment.until) return "its segment has ended";
  return std::nullopt;
}

std::optional<std::string> TrialWatch::all_validated() {
  reports_.judge(trial_, resource_);
  return trial_.pruned;
}

Value TrialWatch::state() const {
  reports_.flush();
  return Value::Map{{"resource", resource_}, {"pruned", trial_.pruned ? Value(*trial_.pruned) : Value()}};
}

void TrialWatch::restore(const Value& state) {
  resource_ = state["resource"].integer();
  reports_.begin(trial_, repeat_, resource_);
  if (state["pruned"].is_string()) trial_.pruned = state["pruned"].string();
}

}  // namespace trainlab

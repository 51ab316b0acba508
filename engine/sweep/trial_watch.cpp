#include "trial_watch.h"

#include <chrono>
#include <thread>

#include "core/clock.h"

namespace trainlab {

namespace {

// Without a pruner nobody waits for a report: several are one transaction.
constexpr double report_seconds = 1;
constexpr std::chrono::milliseconds poll{5};

}  // namespace

Reports::Reports(const StudyPlan& plan, SharedStudy& study, const Pruner* pruner)
    : plan_(plan), study_(study), pruner_(pruner), flushed_(steady_seconds()) {}

void Reports::add(LeasedTrial& trial, const TrialReport& report) {
  pending_.emplace_back(trial.lease.trial, report);
  if (pruner_) {
    flush(trial);
    if (!trial.pruned && prunes(trial)) {
      trial.pruned = "pruned after " + std::to_string(report.resource) + " validations, at " + plan_.objectives().front().metric +
                     " " + number_text(report.value);
    }
  } else if (steady_seconds() - flushed_ > report_seconds) {
    flush(trial);
  }
}

void Reports::flush(const LeasedTrial& trial) {
  std::vector<TrialReport> own;
  std::erase_if(pending_, [&](const auto& one) {
    if (one.first == trial.lease.trial) own.push_back(one.second);
    return one.first == trial.lease.trial;
  });
  // Also without one: this is how a process that was silent for too long learns that its trial is another's.
  study_.report(trial.lease, own);
  flushed_ = steady_seconds();
}

bool Reports::prunes(const LeasedTrial& trial) {
  std::int64_t visible = trial.lease.trial;
  if (pruner_->compares()) {
    if (plan_.deterministic()) {
      visible = final_trials(trial.lease.trial);
    } else {
      study_.follow();
      visible = study_.study().trials().size();
    }
  } else {
    study_.follow();
  }
  const Curves curves(study_.study().trials(), plan_.objectives().front().maximize, visible);
  return pruner_->prunes(curves, trial.lease.trial);
}

// A deterministic study prunes by what it would know whatever the number of processes: by trials that are final.
std::int64_t Reports::final_trials(std::int64_t trial) {
  const std::int64_t visible = std::max<std::int64_t>(trial - Study::lag + 1, 0);
  while (true) {
    study_.follow();
    const Trials& trials = study_.study().trials();
    while (final_ < visible && is_final(trials.state(final_))) ++final_;
    if (final_ >= visible) return visible;
    for (std::int64_t other = final_; other < visible; ++other) {
      if (trials.state(other) == TrialState::waiting) throw TrialMustWait();
    }
    if (stop_requested()) throw TrialMustWait();
    std::this_thread::sleep_for(poll);
  }
}

std::optional<std::string> TrialWatch::validated(const Progress& progress) {
  ++resource_;
  reports_.add(trial_, {.repeat = repeat_, .resource = resource_, .value = progress.metric(metric_)});
  if (trial_.pruned) return trial_.pruned;
  if (trial_.segment && resource_ >= trial_.segment->until) return "its segment has ended";
  return std::nullopt;
}

Value TrialWatch::state() const {
  return Value::Map{{"resource", resource_}, {"pruned", trial_.pruned ? Value(*trial_.pruned) : Value()}};
}

void TrialWatch::restore(const Value& state) {
  resource_ = state["resource"].integer();
  reports_.begin(trial_, repeat_, resource_);
  if (state["pruned"].is_string()) trial_.pruned = state["pruned"].string();
}

}  // namespace trainlab

#include "study/shared_study.h"

#include <algorithm>
#include <cmath>

#include "core/host.h"

namespace trainlab {

SharedStudy::SharedStudy(std::unique_ptr<Storage> storage, Study study, Storage::Owner owner,
                         std::unique_ptr<Storage> copy)
    : storage_(std::move(storage)), copy_(std::move(copy)), study_(std::move(study)), owner_(std::move(owner)) {
  follow();
}

bool SharedStudy::follow() {
  const StudyChanges changes = storage_->changes();
  apply(changes);
  return !changes.trials.empty();
}

void SharedStudy::lose_trials_of_the_dead() {
  for (const std::int64_t number : study_.running()) {
    const StoredTrial& trial = stored(number);
    if (has_died(trial.owner)) storage_->lose({.trial = number, .attempt = trial.attempt, .owner = trial.owner});
  }
}

SharedStudy::Asked SharedStudy::ask(double now, double expires, std::int64_t most, const MayBegin& may_begin) {
  lose_trials_of_the_dead();
  Asked asked;
  owner_.expires = expires;
  asked.lease = storage_->begin(owner_, now, [&](const StudyChanges& changes) -> std::optional<Storage::Begin> {
    apply(changes);
    asked.is_over = changes.is_over;
    // Other processes wait meanwhile, so a point is chosen only if a trial can begin.
    const Trials& trials = study_.trials();
    const bool may_add = !changes.is_over && trials.size() < most;
    if (trials.count(TrialState::waiting) == 0 && !may_add) return std::nullopt;
    Study::Next next = study_.next();
    asked.wait = next.wait;
    if (!next.trial || (may_begin && !may_begin(*next.trial, next.segment.value_or(Segment{})))) return std::nullopt;
    return Storage::Begin{.trial = *next.trial, .point = std::move(next.point), .segment = next.segment};
  });
  // The trial's own beginning comes back with the next changes.
  if (!asked.lease && study_.trials().count(TrialState::running) > 0) asked.wait = true;
  return asked;
}

void SharedStudy::end(std::vector<EndedTrial> trials) {
  for (EndedTrial& trial : trials) {
    const bool has_nan = std::ranges::any_of(trial.values, [](double x) { return std::isnan(x); });
    if (trial.state != TrialState::complete || !has_nan) continue;
    trial.state = TrialState::failed;
    trial.values.clear();
  }
  storage_->end(trials);
}

// Raises Error{run} for a trial that no process would write, but that may stand in a damaged or repaired file.
void SharedStudy::check(const StoredTrial& trial) const {
  const bool is_complete = trial.state == TrialState::complete;
  std::string wrong;
  if (trial.number > study_.trials().size()) wrong = "trial " + std::to_string(study_.trials().size()) + " is missing";
  if (trial.point.size() != study_.space().size())
    wrong = "its point has " + std::to_string(trial.point.size()) + " values";
  const std::optional<std::int64_t> parent = trial.segment ? trial.segment->parent : std::nullopt;
  if (parent && (*parent < 0 || *parent >= trial.number)) wrong = "it continues trial " + std::to_string(*parent);
  if (is_complete && trial.values.size() != study_.trials().objectives())
    wrong = "it is complete with " + std::to_string(trial.values.size()) + " values";
  if (study_.scheduler() && trial.state != TrialState::waiting && !trial.segment)
    wrong = "it has begun without a segment";
  if (wrong.empty()) return;
  throw run_error("the study's file holds trial " + std::to_string(trial.number) + ", but " + wrong)
      .hint("the file is damaged; finished trials keep their folders");
}

void SharedStudy::apply(const StudyChanges& changes) {
  // Trials are applied in the order of their numbers, because a trial may have changed after a trial with a higher
  // number.
  std::vector<const StoredTrial*> by_number;
  for (const StoredTrial& trial : changes.trials) by_number.push_back(&trial);
  std::sort(by_number.begin(), by_number.end(), [](const auto* a, const auto* b) { return a->number < b->number; });
  for (const StoredTrial* trial : by_number) {
    const std::int64_t number = trial->number;
    check(*trial);
    const bool is_new = number == study_.trials().size();
    if (is_new && trial->state == TrialState::waiting)
      study_.enqueue(trial->point, trial->segment);
    else if (is_new || study_.trials().state(number) == TrialState::waiting)
      study_.begin(number, trial->point, trial->segment);
    if (trial->state == TrialState::waiting && study_.trials().state(number) == TrialState::running)
      study_.wait_again(number);
    if (number == static_cast<std::int64_t>(stored_.size())) stored_.emplace_back();
    stored_[static_cast<std::size_t>(number)] = *trial;
  }
  for (const StoredReport& report : changes.reports) {
    if (report.trial >= study_.trials().size())
      throw run_error("the study's file holds a report of trial " + std::to_string(report.trial) +
                      ", which is missing");
    if (!is_final(study_.trials().state(report.trial))) study_.report(report.trial, report.report);
  }
  for (const StoredTrial& trial : changes.trials) {
    // The trial may be known already: changes come again when their transaction was rolled back, as when a function of
    // the recipe has raised an error.
    if (is_final(study_.trials().state(trial.number))) continue;
    switch (trial.state) {
      case TrialState::complete: study_.tell(trial.number, trial.values, trial.segment); break;
      case TrialState::pruned: study_.prune(trial.number); break;
      case TrialState::failed: study_.fail(trial.number); break;
      case TrialState::waiting:
      case TrialState::running: break;
    }
  }
  if (copy_) copy_->copy(changes);
}

}  // namespace trainlab

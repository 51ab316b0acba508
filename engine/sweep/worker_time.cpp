// Worker: whether the time, or a budget of FLOPs, allows further trials.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/clock.h"
#include "run/budget.h"
#include "worker.h"

namespace trainlab {

namespace {

constexpr double least_move = 0.05;  // seconds by which a deadline moves before the storage hears of the move

}  // namespace

// Trials of other processes count: of those that run now, and of those before a resume.
const TrialSeconds& Worker::trial_seconds() const {
  const Trials& trials = study_.study().trials();
  const std::int64_t ended =
      trials.count(TrialState::complete) + trials.count(TrialState::pruned) + trials.count(TrialState::failed);
  if (ended == ended_) return trial_seconds_;
  ended_ = ended;
  const TrialSeconds stored = seconds_of_trials(study_);
  for (const auto& [length, seconds] : stored.by_length) trial_seconds_.add(length, seconds);
  trial_seconds_.whole = stored.whole;
  return trial_seconds_;
}

// Trials that trained together, or one after the other, took time in proportion to their lengths.
void Worker::learn_seconds(std::span<const LeasedTrial> trials, double seconds) {
  const Study& study = study_.study();
  std::int64_t sum = 0;
  for (const LeasedTrial& trial : trials) sum += length_of(study, trial.segment);
  for (const LeasedTrial& trial : trials) {
    const std::int64_t length = length_of(study, trial.segment);
    trial_seconds_.add(length, seconds * static_cast<double>(length) / static_cast<double>(sum));
  }
}

// Whether enough time is left for a trial that would begin now, together with those `before`. A stack takes at most as
// long as its trials would take one after the other, and twice that time on a machine that has become busy; a stack
// whose time ends has all of its trials cut short. The first trial of a study trains alone, because nothing is known of
// its length. A trial that has begun before goes on in any case.
bool Worker::has_time_for(std::span<const LeasedTrial> before, std::int64_t trial, const Segment& segment) const {
  if (!context_.seconds_left) return true;
  const Study& study = study_.study();
  const TrialSeconds& known = trial_seconds();
  double seconds = known.expected(length_of(study, segment));
  if (before.empty()) {
    const bool has_begun = trial < study.trials().size() && study_.stored(trial).attempt > 0;
    return has_begun || plan_.terms().least_part() * seconds < context_.seconds_left();
  }
  for (const LeasedTrial& other : before) seconds += known.expected(length_of(study, other.segment));
  return known.longest() > 0 && 2 * seconds <= context_.seconds_left();
}

// Until no trial may begin any more: by the stage's own time, after which trials that run are brought to their end, or
// by the budget of the run, in which they must end: too little is left even for the shortest trial then.
double Worker::seconds_left() const { return std::min(own_seconds_left(), run_seconds_left()); }

double Worker::own_seconds_left() const {
  return used_ ? plan_.time_budget() - used_->seconds() : std::numeric_limits<double>::infinity();
}

double Worker::run_seconds_left() const {
  if (!context_.seconds_left) return std::numeric_limits<double>::infinity();
  return context_.seconds_left() - plan_.terms().least_part() * trial_seconds().expected(1);
}

// An engine that helps does not know the stage's own time.
std::string Worker::why_over() {
  if (seconds_left() > 0 && are_flops_used()) return flops_are_used;
  return own_seconds_left() <= run_seconds_left() ? own_time_is_used : budget_is_used;
}

// Whether too little is left of the budget of FLOPs for a new trial.
bool Worker::are_flops_used() {
  if (std::isinf(context_.most_flops)) return false;
  study_.follow();
  return flops_.are_used();
}

// The storage says to all processes when the time is over. That moment moves with what trials take: the storage hears
// of moves by more than a hundredth of the time that is left.
void Worker::tell_deadline() {
  const double left = std::max(seconds_left(), 0.0);
  if (!leads() || std::isinf(left)) return;
  const double deadline = wall_seconds() + left;
  if (std::abs(deadline - told_deadline_) < std::max(least_move, left / 100)) return;
  study_.storage().set_deadline(deadline);
  told_deadline_ = deadline;
}

void Worker::check_time() {
  if (stopped_) return;
  if (seconds_left() > 0 && !are_flops_used()) return tell_deadline();
  stopped_ = why_over();
  if (leads()) study_.storage().set_deadline(wall_seconds());
}

std::optional<double> Worker::used_seconds() const { return used_ ? std::optional(used_->seconds()) : std::nullopt; }

}  // namespace trainlab

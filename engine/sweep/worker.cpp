#include "worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <system_error>
#include <thread>
#include <utility>

#include "core/clock.h"
#include "core/duration.h"
#include "core/files.h"
#include "core/host.h"
#include "run/budget.h"
#include "run/time_keeper.h"
#include "study_summary.h"
#include "trials/trial_folder.h"

namespace trainlab {

namespace {

std::optional<UsedTime> used_time(const StudyPlan& plan, const StageContext& context,
                                  const std::function<double()>& seconds) {
  const double budget = plan.time_budget();
  if (budget == 0 || context.helps) return std::nullopt;
  UsedTime used(context.folder, context.seconds_before, seconds);
  if (plan.extends() && used.seconds() >= budget) {
    const bool is_part = plan.terms().share_of_time < 1;
    throw usage_error("the sweep has used all of its " + to_text(Duration{budget, Unit::seconds}) +
                      (is_part ? " for the search" : "") + ": no trial would begin")
        .hint("trainlab extend RUN --time TIME");
  }
  return used;
}

constexpr std::chrono::milliseconds poll{5};
constexpr int most_polls = 100;
// A trial during which this many processes died is not given to another process.
constexpr std::int64_t most_lost = 10;

}  // namespace

SharedStudy open_study(const StudyPlan& plan, const StageContext& context, const StudyHome& home) {
  const StudyPlace& place = home.place;
  Study study = plan.study();
  Value description = plan.description(study);
  if (home.is_in_database) description.set("run", run_description(context));
  if (!home.is_in_database) StudyPlace::check_not_lost(context.folder);
  std::unique_ptr<Storage> storage, copy;
  try {
    Waiting waiting = waiting_of(context);
    waiting.is_known_place = home.is_in_database;  // this run has made or found its study there
    storage = place.open(waiting);
    storage->open(description, plan.terms().enqueued, [&](const Value& stored) {
      if (stored["space"] != parse_json(to_json(description["space"]), "space"))
        throw usage_error(place.text() + ": holds a study of another space").hint("choose another --out");
      description = stored;
    });
    if (home.is_in_database && !context.helps) copy = empty_copy(context, description);
    if (!context.helps && !home.is_joined) {
      storage->revoke_all_but(context.supervisor);
      storage->set_deadline(std::numeric_limits<double>::infinity());
    }
  } catch (const Error& error) {
    // A run that refuses its extension stays as it was.
    if (error.kind() != ErrorKind::run || !plan.extends()) throw;
    throw usage_error(error.message()).hint(error.hint());
  }
  // Engines of a run that has joined are not those of the run that owns the study, which revokes the leases of its own.
  const std::string supervisor = home.is_joined ? "" : context.supervisor;
  return {std::move(storage),
          std::move(study),
          {.name = this_process(), .supervisor = supervisor, .expires = 0},
          std::move(copy)};
}

Worker::Worker(const StudyPlan& plan, const StageContext& context, SpeedTotal& speed, std::function<double()> seconds)
    : plan_(plan),
      context_(context),
      home_(find_home(plan, context)),
      used_(home_.is_joined ? std::optional<UsedTime>() : used_time(plan, context, seconds)),
      study_(open_study(plan, context, home_)),
      keeper_(study_.storage()),
      plans_(plan, context, warnings_),
      speed_(speed),
      fits_(plan, context, study_, plans_, warnings_, speed, [this] { reported(); }),
      flops_(context.most_flops, plan.workers(), study_,
             [this](std::int64_t trial) { return planned_flops(plan_, study_, plans_, trial); }),
      progress_(plan, context, study_.study(), seconds, used_ ? used_->seconds() : 0),
      seconds_(std::move(seconds)) {
  if (plan.terms().longest > 0) trial_seconds_.add(1, plan.terms().longest);
  tell_deadline();
  if (used_) used_->save();
}

// A trial for this process, unless its end is known already. False when there is none.
bool Worker::take(std::vector<LeasedTrial>& trials) {
  const double now = wall_seconds();
  if (std::isfinite(context_.most_flops)) study_.follow();
  const std::int64_t most = std::min(plan_.terms().trials, flops_.most_trials());
  bool is_late = false;
  SharedStudy::Asked asked =
      study_.ask(now, now + LeaseKeeper::lease_seconds, most, [&](std::int64_t trial, const Segment& segment) {
        is_late = !has_time_for(trials, trial, segment);
        return !is_late;
      });
  wait_ = asked.wait;
  if (asked.is_over) {
    stopped_ = why_over();
  } else if (is_late && trials.empty()) {
    stopped_ = budget_is_used;
  }
  // Where another process has begun the trial for which there are FLOPs, there may be FLOPs for one more.
  if (!asked.lease)
    return !wait_ && study_.study().trials().size() >= most && most < plan_.terms().trials &&
           flops_.most_trials() > study_.study().trials().size();
  study_.follow();
  const std::int64_t number = asked.lease->trial;
  const std::span<const double> point = study_.study().trials().point(number);
  LeasedTrial trial{.lease = *asked.lease,
                    .point = {point.begin(), point.end()},
                    .segment = study_.study().segment(number),
                    .pruned = {}};
  keeper_.add(trial.lease);
  const bool is_held = while_leased({&trial, 1}, [&] {
    const auto confirm = [&] { study_.report(trial.lease, {}); };
    TrialFolder(context_.folder, number).take_over(trial.lease.attempt, confirm);
  });
  if (!is_held) return true;
  if (const std::optional<TrialEnd> end = known_end(trial)) {
    tell({&trial, 1}, {&*end, 1});
    return true;
  }
  trials.push_back(std::move(trial));
  return true;
}

// Does something for trials that this process has leased, and gives them back when that raises. False when the reason
// is that another process has a trial by now: its files were taken away, or its study refused a write.
bool Worker::while_leased(std::span<const LeasedTrial> trials, const std::function<void()>& work) {
  try {
    work();
    return true;
  } catch (...) {
    const std::optional<std::string> reason = lost(trials);
    give_back(trials);
    if (!reason) throw;
    context_.say(*reason);
    return false;
  }
}

// The words of the study about the first of these leases that has been lost.
std::optional<std::string> Worker::lost(std::span<const LeasedTrial> trials) noexcept {
  try {
    for (const LeasedTrial& trial : trials) study_.report(trial.lease, {});
  } catch (const LeaseLost& lost) {
    return lost.what();
  } catch (const std::exception&) {
    // The study cannot be asked, which is no reason to leave out what was raised before.
  }
  return std::nullopt;
}

std::optional<TrialEnd> Worker::known_end(const LeasedTrial& trial) const {
  if (study_.stored(trial.lease.trial).lost >= most_lost) {
    TrialEnd end;
    end.state = TrialState::failed;
    end.info.set("reason", fmt::format("{} processes that ran it have died", most_lost));
    return end;
  }
  if (!plan_.terms().reuses_duplicates) return std::nullopt;
  const Trials& trials = study_.study().trials();
  const std::int64_t known = plan_.terms().is_deterministic ? Study::visible(trial.lease.trial) : trial.lease.trial;
  for (std::int64_t other = 0; other < known; ++other) {
    if (trials.state(other) != TrialState::complete || !same_point(trials.point(other), trial.point)) continue;
    TrialEnd end;
    end.values.assign(trials.values(other).begin(), trials.values(other).end());
    end.info = study_.stored(other).info;
    end.info.set("duplicate_of", other);
    end.info.set("seconds", 0.0);
    for (const char* of_training : {"speed", "health", "wastes"}) end.info.set(of_training, {});
    return end;
  }
  return std::nullopt;
}

// Asks for the trials of a stack, but for no more than this process's share of the remaining trials.
std::vector<LeasedTrial> Worker::ask() {
  std::vector<LeasedTrial> trials;
  while (trials.empty()) {
    if (stop_requested() || !take(trials)) return trials;
  }
  // A trial that may have ended its process is not to end other trials with it.
  if (study_.stored(trials.front().lease.trial).lost > 0) return trials;
  // Neither is a trial that is cut short: what is left for it is known when those before it have ended.
  if (!flops_.fits(trials.front().lease.trial)) return trials;
  std::int64_t stack = 1;
  try {
    stack = plans_.stack_of(trials.front());
  } catch (const Error& error) {
    if (!is_of_trial(error)) throw;  // the trial will fail by it
  }
  const std::int64_t all = std::min(plan_.terms().trials, study_.study().scheduler()
                                                              ? plan_.terms().trials
                                                              : study_.study().points().value_or(plan_.terms().trials));
  const std::int64_t left = std::max<std::int64_t>(all - study_.study().trials().size() + 1, 1);
  const std::int64_t most = plan_.trials_at_once(study_.study(), stack, left);
  while (static_cast<std::int64_t>(trials.size()) < most && take(trials)) {
    const std::int64_t last = trials.back().lease.trial;
    if (!waits_for_another(trials) && study_.stored(last).lost == 0 && flops_.fits(last)) continue;
    give_back(std::span(trials).last(1));
    trials.pop_back();
    break;
  }
  return trials;
}

// Whether the last of these trials may depend on how another of them ends.
bool Worker::waits_for_another(std::span<const LeasedTrial> trials) const {
  if (trials.size() < 2) return false;
  const LeasedTrial& last = trials.back();
  if (plan_.terms().is_deterministic && last.lease.trial - trials.front().lease.trial >= Study::lag) return true;
  return plan_.terms().reuses_duplicates &&
         std::ranges::any_of(trials.first(trials.size() - 1),
                             [&](const LeasedTrial& other) { return same_point(other.point, last.point); });
}

Worker::End Worker::run() {
  std::optional<TimeKeeper> keeper;
  if (used_) keeper.emplace(plan_.time_budget(), [this] { used_->save(); });
  const End end = work();
  keeper.reset();
  if (used_) used_->save();
  return end;
}

Worker::End Worker::work() {
  check_failures();
  while (!stop_requested()) {
    check_time();
    if (!leads() && (seconds_left() <= 0 || are_flops_used())) return End::complete;
    std::vector<LeasedTrial> trials = ask();
    progress_.look();
    if (!trials.empty()) {
      train(std::move(trials));
    } else if (wait_ && !(context_.seconds_left && context_.seconds_left() <= 0)) {
      // Until somebody's trial has ended, or somebody may have been silent for too long.
      for (int polls = 0; polls < most_polls && !stop_requested() && !study_.follow(); ++polls)
        std::this_thread::sleep_for(poll);
    } else {
      const bool is_whole = study_.study().trials().size() >= plan_.terms().trials &&
                            study_.study().trials().count(TrialState::waiting) == 0;
      if (!stopped_ && are_flops_used()) stopped_ = flops_are_used;
      if (is_whole) stopped_.reset();  // the last one took longer, but nothing is missing
      if (!stopped_ && plan_.terms().ends_without_improvement && study_.study().trials().size() < plan_.terms().trials)
        stopped_ = "no more improvement is expected";
      show();
      settle();
      return End::complete;
    }
    check_failures();
    show();
  }
  settle();
  return End::interrupted;
}

void Worker::train(std::vector<LeasedTrial> trials) {
  std::vector<TrialEnd> ends;
  const double begun = seconds_();
  // Several trials train together only if each of them fits.
  const double flops = flops_.cap(trials.front().lease.trial);
  if (!while_leased(trials, [&] { ends = fits_.run(trials, flops); })) return;
  learn_seconds(trials, seconds_() - begun);
  tell(trials, ends);
}

// The ends of a stack are stored together, which waits once for the disk. Where a trial was lost, the others are given
// back: whoever takes one finds its training done, and stores its end.
void Worker::tell(std::span<const LeasedTrial> trials, std::span<const TrialEnd> ends) {
  std::vector<LeasedTrial> told;
  std::vector<EndedTrial> ended;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (ends[i].interrupted) {
      give_back(trials.subspan(i, 1));
    } else {
      told.push_back(trials[i]);
      ended.push_back({trials[i].lease, ends[i].state, ends[i].values, ends[i].info, ends[i].until});
    }
  }
  if (ended.empty() || !while_leased(told, [&] { study_.end(ended); })) return;
  for (const LeasedTrial& trial : told) {
    keeper_.remove(trial.lease);
    TrialFolder(context_.folder, trial.lease.trial).settle(trial.lease.attempt);
  }
  study_.follow();
}

// The files of trials whose process was killed between their end and settle().
void Worker::settle() {
  if (context_.helps) return;
  study_.follow();
  const Trials& trials = study_.study().trials();
  for (std::int64_t t = 0; t < trials.size(); ++t) {
    if (is_final(trials.state(t))) TrialFolder(context_.folder, t).settle(study_.stored(t).attempt);
  }
}

void Worker::give_back(std::span<const LeasedTrial> trials) noexcept {
  for (const LeasedTrial& trial : trials) {
    keeper_.remove(trial.lease);
    try {
      study_.storage().give_back(trial.lease);
    } catch (const std::exception&) {
      // Lost already, or the disk is full: then the lease ends when its time is over.
    }
  }
}

void Worker::check_failures() const {
  if (study_.study().trials().count(TrialState::failed) <= plan_.most_failures()) return;
  throw run_error(plan_.failure(failures_of(study_.stored()).value()));
}

void Worker::show() {
  if (!context_.helps) progress_.show();
}

// While trials of this process train.
void Worker::reported() {
  if (context_.helps || !progress_.is_due()) return;
  fits_.write_reports();
  study_.follow();
  progress_.show();
}

}  // namespace trainlab

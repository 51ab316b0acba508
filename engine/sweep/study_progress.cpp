#include "study_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace trainlab {

namespace {

// Between two lines, when trials have ended and when none has.
constexpr double news_seconds = 10, quiet_seconds = 30;

}  // namespace

StudyProgress::StudyProgress(const StudyPlan& plan, const StageContext& context, const Study& study,
                             std::function<double()> seconds, double used)
    : plan_(plan),
      context_(context),
      study_(study),
      seconds_(std::move(seconds)),
      own_end_(plan.time_budget() > 0 ? seconds_() + plan.time_budget() - used
                                      : std::numeric_limits<double>::infinity()) {
  for (std::int64_t trial = 0; trial < study_.trials().size(); ++trial) {
    if (study_.trials().state(trial) == TrialState::complete) lengths_.add(static_cast<double>(reports_of(trial)));
  }
}

std::int64_t StudyProgress::reports_of(std::int64_t trial) const {
  std::int64_t count = 0;
  for (const auto& [repeat, reports] : study_.trials().repeats(trial)) count += std::ssize(reports.resources);
  return count;
}

bool StudyProgress::is_due() const { return seconds_() - said_ >= quiet_seconds; }

void StudyProgress::look() {
  now_ = seconds_();
  const Trials& trials = study_.trials();
  std::erase_if(running_, [&](const auto& one) {
    const auto& [trial, seen] = one;
    const TrialState state = trials.state(trial);
    if (state == TrialState::complete) lengths_.add(static_cast<double>(reports_of(trial)));
    if (is_final(state)) durations_.add(now_ - seen.begin);
    return state != TrialState::running;
  });
  for (const std::int64_t trial : study_.running())
    running_.try_emplace(trial, Seen{.begin = now_, .reports = reports_of(trial)});
  most_running_ = std::max(most_running_, running_.size());
}

// Reports of a whole trial: those of its segment, or as many as complete trials have had.
std::optional<double> StudyProgress::length_of(std::int64_t trial) const {
  if (const Segment own = study_.segment(trial); own.until > 0) return static_cast<double>(study_.length(own));
  return lengths_.count > 0 ? std::optional(lengths_.value()) : std::nullopt;
}

// By the trial's own speed, which is another one when fewer trials train at the same time. A trial that has reported
// nothing yet is expected to take as long as others have taken.
std::optional<double> StudyProgress::seconds_left_of(std::int64_t trial, const Seen& seen) const {
  const double passed = now_ - seen.begin;
  const std::int64_t reports = reports_of(trial), since = reports - seen.reports;
  if (const std::optional<double> length = length_of(trial); length && since > 0)
    return std::max(*length - static_cast<double>(reports), 0.0) * passed / static_cast<double>(since);
  if (durations_.count > 0) return std::max(durations_.value() - passed, 0.0);
  return std::nullopt;
}

std::optional<double> StudyProgress::seconds_left() const {
  if (std::isfinite(context_.most_flops)) return std::nullopt;  // nobody counts here how many trials they pay for
  const std::int64_t all = plan_.terms().trials, begun = study_.trials().ended() + std::ssize(running_);
  // No trial begins afterwards.
  const double deadline = context_.seconds_left ? std::min(own_end_, now_ + context_.seconds_left()) : own_end_;
  if (all == StudyTerms::no_limit && std::isinf(deadline)) return std::nullopt;
  double longest = 0, sum = 0;
  for (const auto& [trial, seen] : running_) {
    const std::optional<double> left = seconds_left_of(trial, seen);
    if (!left) return std::nullopt;
    longest = std::max(longest, *left);
    sum += *left;
  }
  if (begun >= all || now_ >= deadline) return longest;
  if (durations_.count == 0) return std::nullopt;
  // The other trials come in rounds: as many trials at a time as there were at most, be it in stacks or in processes. A
  // round that begins before the deadline goes on to its end.
  const double mean = running_.empty() ? 0 : sum / static_cast<double>(running_.size());
  const double by_trials = std::ceil(static_cast<double>(all - begun) / static_cast<double>(most_running_));
  const double by_time = std::ceil((deadline - now_ - mean) / durations_.value());
  const double rounds = std::min(by_trials, by_time);
  return rounds > 0 ? mean + rounds * durations_.value() : longest;
}

void StudyProgress::show() {
  look();
  const Trials& trials = study_.trials();
  const std::int64_t over = trials.ended(), all = plan_.terms().trials;
  const bool is_news = over != told_, is_last = over >= all;
  const double since = now_ - said_;
  if (is_news ? !is_last && since < news_seconds && said_ > 0 : since < quiet_seconds) return;
  const std::optional<double> left = is_last ? std::nullopt : seconds_left();
  if (!is_news && !left) return;
  said_ = now_;
  told_ = over;
  std::string text = fmt::format("{}: {}", context_.name, over);
  if (all < StudyTerms::no_limit) text += fmt::format(" of {}", all);
  text += " " + std::string(plan_.terms().trials_name);
  for (const TrialState state : {TrialState::pruned, TrialState::failed, TrialState::running}) {
    if (trials.count(state) > 0) text += fmt::format(", {} {}", trials.count(state), trial_state_name(state));
  }
  if (study_.best() && plan_.objectives().size() == 1 && !plan_.terms().is_confirmation) {
    text += fmt::format(", best {} {:.5g} (trial {})", plan_.objectives().front().metric, trials.value(*study_.best()),
                        *study_.best());
  }
  if (left) text += fmt::format(", about {:.0f} s left", *left);
  context_.say(text);
}

}  // namespace trainlab

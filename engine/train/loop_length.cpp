// The length of a training: its steps and the budgets of time and FLOPs that bound it, and what is left of them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "loop.h"
#include "run/budget.h"

namespace trainlab {
namespace {

// Between two estimates of the length of a run under a time budget, once the first steps are done.
constexpr std::int64_t estimate_every = 20;

}  // namespace

bool FitLoop::finished() {
  if (!any_active()) return true;
  const std::int64_t total = plan_.length.total_steps;
  if (total > 0 && position_.step >= total) return true;
  // A result needs a step.
  if (position_.step > 0 && static_cast<double>(position_.step) >= most_steps_) {
    for (const auto& member : members_) member->stop(flops_are_used);
    return true;
  }
  if (position_.step > 0 && seconds_left() <= pace_.reserve(position_.batch)) {
    warn_of_lateness(seconds_left());
    const bool is_own = own_seconds_left() <= run_seconds_left();
    for (const auto& member : members_) member->stop(is_own ? own_time_is_used : budget_is_used);
    return true;
  }
  return false;
}

void FitLoop::warn_of_lateness(double left) {
  // Less than a tenth of the time that was given, or than a second, is not worth a word; a first step alone tells
  // little.
  const double needed = pace_.needed(position_.batch);
  if (needed - left <= std::max(0.1 * given_seconds_, 1.0)) return;
  const Error text =
      plan_.options
          .error("", "validation, test part and checkpoint take about " + number_text(std::ceil(needed)) + " s, and " +
                         number_text(std::max(std::floor(left), 0.0)) + " s of the budget are left: the end comes late")
          .hint("smaller parts for val and test, or more time, end in time");
  fits_.front().context.warn(text.what());  // once: the fits of a stack end together
}

double FitLoop::own_seconds_left() const {
  if (plan_.time_budget == 0) return std::numeric_limits<double>::infinity();
  return plan_.time_budget - members_.front()->seconds();
}

double FitLoop::run_seconds_left() const {
  const auto& left = fits_.front().context.seconds_left;
  return left ? left() : std::numeric_limits<double>::infinity();
}

double FitLoop::seconds_left() const { return std::min(own_seconds_left(), run_seconds_left()); }

// A budget ends the fit at a step that nobody knows. It is estimated from the speed so far: after each of the first
// steps, for a wrong estimate would put a schedule far from its beginning where the time alone bounds the fit, then now
// and then, so that such a schedule comes to its end with the budget although the speed changes. A checkpoint holds the
// latest estimate of a schedule.
void FitLoop::estimate_total() {
  const std::int64_t measured = pace_.warm_steps(), length = plan_.length.total_steps;
  if (measured < 1 || (measured > estimate_every && measured % estimate_every != 0)) return;
  const double left = std::max(seconds_left() - pace_.reserve(position_.batch), 0.0);
  const double in_time = static_cast<double>(position_.step) + std::floor(left / pace_.step_seconds());
  const double in_budget = std::min(in_time, std::max(most_steps_, 1.0));
  const bool is_in_reach = length > 0 && in_budget >= static_cast<double>(length);
  const std::int64_t total = is_in_reach ? length : static_cast<std::int64_t>(in_budget);
  for (const auto& member : members_) member->set_total(total);
  if (length == 0) trained_->set_total(total);
}

bool FitLoop::may_go_back(bool has_ended) const {
  if (is_group_ || (has_ended && !members_.front()->failure())) return false;
  // With less time or FLOPs than this, the training that goes back would not come as far as it is now.
  return seconds_left() >= members_.front()->seconds() && most_steps_ >= 2 * static_cast<double>(position_.step);
}

}  // namespace trainlab

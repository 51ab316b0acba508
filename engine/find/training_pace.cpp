#include "find/training_pace.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/clock.h"
#include "trainings.h"

namespace trainlab {

namespace {

constexpr double timed_seconds = 1;  // of timed steps and validations

}  // namespace

TrainingPace::TrainingPace(const FitPlan& plan, std::function<bool(const TrainingPace&)> is_enough)
    : plan_(plan), is_enough_(std::move(is_enough)), begun_(steady_seconds()), since_(begun_) {}

void TrainingPace::stepped(std::int64_t step) {
  const double now = steady_seconds();
  (step == 1 ? first_ : stepping_) += now - since_;
  since_ = now;
  steps_ = step;
  if (is_enough_(*this)) throw SeenEnough();
}

void TrainingPace::validated(std::int64_t) {
  const double now = steady_seconds();
  validating_ += now - since_;
  since_ = now;
  ++validations_;
}

bool TrainingPace::is_known() const { return steps_ > 1 && stepping_ + validating_ >= timed_seconds; }

double TrainingPace::elapsed() const { return steady_seconds() - begun_; }

double TrainingPace::seconds() const {
  if (plan_.length.total_steps == 0) return plan_.time_budget;
  const auto steps = static_cast<double>(plan_.length.total_steps);
  double seconds = steps * (steps_ > 1 ? stepping_ / static_cast<double>(steps_ - 1) : first_);
  if (validations_ > 0) {
    const double in_all = steps / static_cast<double>(plan_.validate_every);
    seconds += in_all * validating_ / static_cast<double>(validations_);
  }
  return plan_.time_budget > 0 ? std::min(seconds, plan_.time_budget) : seconds;
}

double expected_seconds(const FitPlan& plan, const RunSettings& settings, const std::function<double()>& seconds_left) {
  if (plan.length.total_steps == 0) return plan.time_budget;
  if (seconds_left() <= 0) return 0;
  const auto pace = std::make_shared<TrainingPace>(
      plan, [&](const TrainingPace& so_far) { return so_far.is_known() || seconds_left() <= 0; });
  train_silently(plan, settings, {.observers = {pace}});
  return pace->seconds();
}

}  // namespace trainlab

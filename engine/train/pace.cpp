#include "pace.h"

#include <algorithm>

#include "core/clock.h"
#include "train/evaluation_seconds.h"

namespace trainlab {
namespace {

// The first steps of a process touch memory and code for the first time and say nothing of its speed.
constexpr std::int64_t cold_steps = 5;
// A slow validation or checkpoint counts for the reserve under a time budget, and is forgotten by and by.
constexpr double remembered = 0.9;

}  // namespace

void Pace::begin(std::int64_t step) {
  first_step_ = step_ = step;
  begun_ = steady_seconds();
}

void Pace::stepped(std::int64_t step) {
  step_ = step;
  if (warm_steps() == 0) warm_since_ = steady_seconds();
}

void Pace::validated(double seconds) { validation_seconds_ = std::max(seconds, remembered * validation_seconds_); }

void Pace::committed(double seconds) { commit_seconds_ = std::max(seconds, remembered * commit_seconds_); }

std::int64_t Pace::warm_steps() const { return step_ - first_step_ - cold_steps; }

double Pace::step_seconds() const {
  const std::int64_t done = step_ - first_step_, warm = warm_steps();
  if (warm > 0) return (steady_seconds() - warm_since_) / static_cast<double>(warm);
  return done > 0 ? (steady_seconds() - begun_) / static_cast<double>(done) : 0;
}

double Pace::needed(std::int64_t samples) const {
  const EvaluationSpeed speed{
      .validation = validation_seconds_, .step = step_seconds(), .samples = static_cast<double>(samples)};
  double seconds = commit_seconds_ + speed.step;
  const auto evaluate = [&](const Part& part) { seconds += evaluation_seconds(plan_.data, part, speed); };
  if (plan_.data.val) evaluate(*plan_.data.val);
  if (plan_.data.test) evaluate(*plan_.data.test);
  for (const Part* part : at_end_) evaluate(*part);
  return seconds;
}

// Half as much again: a reserve that is too small costs the result, one that is too large a few steps.
double Pace::reserve(std::int64_t samples) const { return 1.5 * needed(samples); }

}  // namespace trainlab

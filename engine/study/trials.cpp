#include "study/trials.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace trainlab {

std::string_view trial_state_name(TrialState state) {
  constexpr std::string_view names[] = {"waiting", "running", "complete", "pruned", "failed"};
  return names[static_cast<std::size_t>(state)];
}

std::int64_t Trials::add(TrialState state, std::span<const double> point) {
  if (point.size() != parameters_) throw std::logic_error("Trials::add: a point of another space");
  states_.push_back(state);
  ++counts_[static_cast<std::size_t>(state)];
  points_.insert(points_.end(), point.begin(), point.end());
  values_.resize(values_.size() + objectives_, std::numeric_limits<double>::quiet_NaN());
  reports_.emplace_back();
  return size() - 1;
}

void Trials::require_open(std::int64_t trial, const char* what) const {
  if (trial < 0 || trial >= size() || is_final(state(trial))) {
    throw std::logic_error(std::string("Trials::") + what + ": trial " + std::to_string(trial) +
                           " is final, or not there");
  }
}

void Trials::set_state(std::int64_t trial, TrialState state) {
  TrialState& own = states_[index(trial)];
  --counts_[static_cast<std::size_t>(own)];
  ++counts_[static_cast<std::size_t>(state)];
  own = state;
}

void Trials::start(std::int64_t trial, std::span<const double> point) {
  require_open(trial, "start");
  std::copy(point.begin(), point.end(), points_.begin() + static_cast<std::ptrdiff_t>(index(trial) * parameters_));
  set_state(trial, TrialState::running);
}

void Trials::report(std::int64_t trial, const TrialReport& report) {
  require_open(trial, "report");
  auto& reports = reports_[index(trial)];
  // A repeat that was begun again says some of it twice: what it says last holds, and nothing beyond.
  forget(trial, report.repeat, report.resource - 1);
  reports.push_back(report);
}

void Trials::forget(std::int64_t trial, std::int64_t repeat, std::int64_t resource) {
  std::erase_if(reports_[index(trial)],
                [&](const TrialReport& one) { return one.repeat == repeat && one.resource > resource; });
}

void Trials::finish(std::int64_t trial, TrialState state, std::span<const double> values) {
  require_open(trial, "finish");
  if (!is_final(state) || values.size() > objectives_) throw std::logic_error("Trials::finish: no end of a trial");
  std::copy(values.begin(), values.end(), values_.begin() + static_cast<std::ptrdiff_t>(index(trial) * objectives_));
  set_state(trial, state);
}

void Trials::wait_again(std::int64_t trial) {
  require_open(trial, "wait_again");
  set_state(trial, TrialState::waiting);
}

}  // namespace trainlab

#include "study/trials.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>

namespace trainlab {

std::string_view trial_state_name(TrialState state) {
  constexpr std::string_view names[] = {"waiting", "running", "complete", "pruned", "failed"};
  return names[static_cast<std::size_t>(state)];
}

std::int64_t Trials::add(TrialState state, std::span<const double> point, const std::optional<Segment>& segment) {
  if (point.size() != parameters_) throw std::logic_error("Trials::add: a point of another space");
  states_.push_back(state);
  ++counts_[static_cast<std::size_t>(state)];
  points_.insert(points_.end(), point.begin(), point.end());
  values_.resize(values_.size() + objectives_, std::numeric_limits<double>::quiet_NaN());
  set_segment(size() - 1, segment);
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

void Trials::set_segment(std::int64_t trial, const std::optional<Segment>& segment) {
  if (!segment) return;
  if (segments_.size() <= index(trial)) segments_.resize(index(trial) + 1);
  segments_[index(trial)] = segment;
}

void Trials::start(std::int64_t trial, std::span<const double> point, const std::optional<Segment>& segment) {
  require_open(trial, "start");
  set_segment(trial, segment);
  std::copy(point.begin(), point.end(), points_.begin() + static_cast<std::ptrdiff_t>(index(trial) * parameters_));
  set_state(trial, TrialState::running);
}

void Trials::report(std::int64_t trial, const TrialReport& report) {
  require_open(trial, "report");
  if (report.values.empty() || report.values.size() > objectives_) {
    throw std::logic_error("Trials::report: expected one value for each objective");
  }
  // A restarted repeat reports some resources twice: the last report holds, and later ones are forgotten.
  forget(trial, report.repeat, report.resource - 1);
  if (reported_.size() <= index(trial)) reported_.resize(index(trial) + 1);
  Reported& reported = reported_[index(trial)];
  reported.last = report.repeat;
  RepeatReports& repeat = reported.repeats[report.repeat];
  repeat.resources.push_back(report.resource);
  repeat.values.insert(repeat.values.end(), report.values.begin(), report.values.end());
  repeat.values.resize(repeat.resources.size() * objectives_, std::numeric_limits<double>::quiet_NaN());
}

void Trials::forget(std::int64_t trial, std::int64_t repeat, std::int64_t resource) {
  if (reported_.size() <= index(trial)) return;
  Reported& reported = reported_[index(trial)];
  const auto found = reported.repeats.find(repeat);
  if (found == reported.repeats.end()) return;
  RepeatReports& reports = found->second;
  while (!reports.resources.empty() && reports.resources.back() > resource) reports.resources.pop_back();
  reports.values.resize(reports.resources.size() * objectives_);
  if (!reports.resources.empty()) return;
  reported.repeats.erase(found);
  if (reported.last == repeat) reported.last = reported.repeats.empty() ? 0 : reported.repeats.rbegin()->first;
}

const RepeatReports* Trials::last_reports(std::int64_t trial) const {
  const Reported& own = reported(trial);
  return own.repeats.empty() ? nullptr : &own.repeats.at(own.last);
}

std::int64_t Trials::last_resource(std::int64_t trial) const {
  const RepeatReports* last = last_reports(trial);
  return last ? last->resources.back() : 0;
}

std::int64_t Trials::previous_resource(std::int64_t trial) const {
  const RepeatReports* last = last_reports(trial);
  return last && last->resources.size() > 1 ? last->resources.end()[-2] : 0;
}

std::vector<double> Trials::mean(std::int64_t trial, std::int64_t resource, bool or_beyond) const {
  std::vector<double> means;
  double count = 0;
  for (const auto& [repeat, reports] : repeats(trial)) {
    const auto found = std::ranges::lower_bound(reports.resources, resource);
    if (found == reports.resources.end() || (*found != resource && !or_beyond)) continue;
    means.resize(objectives_);
    const auto row = reports.values.begin() + (found - reports.resources.begin()) * std::ssize(means);
    std::ranges::transform(means, std::span(row, objectives_), means.begin(), std::plus());
    ++count;
  }
  for (double& x : means) x /= count;
  return means;
}

void Trials::walk(std::int64_t trial, const Visit& visit) const {
  constexpr std::int64_t end = std::numeric_limits<std::int64_t>::max();
  std::vector<std::pair<const RepeatReports*, std::size_t>> places;  // of each repeat the next of its reports
  for (const auto& [repeat, reports] : repeats(trial)) places.emplace_back(&reports, 0);
  const auto resource_at = [](const auto& place) {
    return place.second < place.first->resources.size() ? place.first->resources[place.second] : end;
  };
  std::vector<double> means(objectives_);
  while (true) {
    std::int64_t resource = end;
    for (const auto& place : places) resource = std::min(resource, resource_at(place));
    if (resource == end) return;
    std::ranges::fill(means, 0.0);
    double count = 0;
    for (auto& place : places) {
      if (resource_at(place) != resource) continue;
      for (std::size_t k = 0; k < objectives_; ++k) means[k] += place.first->values[place.second * objectives_ + k];
      ++place.second;
      ++count;
    }
    for (double& x : means) x /= count;
    visit(resource, means);
  }
}

void Trials::finish(std::int64_t trial, TrialState state, std::span<const double> values,
                    const std::optional<Segment>& segment) {
  require_open(trial, "finish");
  if (!is_final(state) || values.size() > objectives_) throw std::logic_error("Trials::finish: no end of a trial");
  std::copy(values.begin(), values.end(), values_.begin() + static_cast<std::ptrdiff_t>(index(trial) * objectives_));
  set_segment(trial, segment);
  set_state(trial, state);
}

void Trials::wait_again(std::int64_t trial) {
  require_open(trial, "wait_again");
  set_state(trial, TrialState::waiting);
}

}  // namespace trainlab

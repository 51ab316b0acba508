#include "good_trials.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/pareto.h"

namespace trainlab {

namespace {

constexpr double share = 0.12;
constexpr std::size_t most = 25;
constexpr double infinity = std::numeric_limits<double>::infinity();

// The finite values of each objective lie between these. The reference is a little beyond the worst, so that the ends
// of a front count too. Bounds are taken from the points of which some are chosen: a worse trial far away would make
// all of them look alike.
struct Bounds {
  std::vector<double> best, reference;
};
Bounds bounds_of(std::span<const double> points, std::size_t objectives) {
  Bounds bounds{.best = std::vector<double>(objectives, infinity),
                .reference = std::vector<double>(objectives, -infinity)};
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!std::isfinite(points[i])) continue;
    bounds.best[i % objectives] = std::min(bounds.best[i % objectives], points[i]);
    bounds.reference[i % objectives] = std::max(bounds.reference[i % objectives], points[i]);
  }
  for (std::size_t k = 0; k < objectives; ++k) {
    double &best = bounds.best[k], &worst = bounds.reference[k];
    if (!std::isfinite(best)) best = worst = 0;
    worst = worst == 0 ? 1e-12 : std::max(1.1 * worst, 0.9 * worst);
  }
  return bounds;
}

// Infinite values have no volume: an infinitely good one counts as the best finite one, a bad one reaches nothing.
std::vector<double> within(const Bounds& bounds, std::vector<double> points) {
  const std::size_t objectives = bounds.best.size();
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i] = std::clamp(points[i], bounds.best[i % objectives], bounds.reference[i % objectives]);
  return points;
}

}  // namespace

bool GoodTrials::Rank::operator<(const Rank& other) const {
  if (pruned != other.pruned) return !pruned;
  if (pruned && resource != other.resource) return resource > other.resource;
  if (value != other.value) return value < other.value;
  return number < other.number;
}

void GoodTrials::observe(const Observation& trial) {
  const auto number = static_cast<std::uint32_t>(count_++);
  if (objectives_ > 1) {
    // A pruned trial does not have all its values, so it is not a good trial.
    if (trial.state != TrialState::complete) return;
    values_.insert(values_.end(), trial.values.begin(), trial.values.end());
    numbers_.push_back(number);
    return;
  }
  const Rank rank{.pruned = trial.state == TrialState::pruned,
                  .resource = trial.resource,
                  .value = trial.values.empty() ? infinity : trial.values[0],
                  .number = number};
  ranks_.insert(std::upper_bound(ranks_.begin(), ranks_.end(), rank), rank);
}

GoodTrials::Choice GoodTrials::choose() const {
  Choice choice;
  choice.is_good.assign(static_cast<std::size_t>(count_), 0);
  const auto good = std::min(static_cast<std::size_t>(std::ceil(share * static_cast<double>(count_))), most);
  if (objectives_ > 1) {
    choose_several(good, choice);
  } else {
    for (std::size_t k = 0; k < good; ++k) choice.is_good[ranks_[k].number] = 1;
  }
  return choice;
}

void GoodTrials::choose_several(std::size_t good, Choice& choice) const {
  std::vector<std::uint32_t> chosen;
  for (const auto& front : pareto_fronts(values_, objectives_, good)) {
    const std::size_t room = good - chosen.size();
    if (front.size() <= room) {
      chosen.insert(chosen.end(), front.begin(), front.end());
      continue;
    }
    const std::vector<double> points = rows_at(values_, objectives_, front);
    const Bounds bounds = bounds_of(points, objectives_);
    for (const std::uint32_t i : most_volume(within(bounds, points), bounds.reference, room))
      chosen.push_back(front[i]);
  }
  for (const std::uint32_t i : chosen) choice.is_good[numbers_[i]] = 1;
  if (objectives_ > 2) return;
  const std::vector<double> points = rows_at(values_, objectives_, chosen);
  const Bounds bounds = bounds_of(points, objectives_);
  const std::vector<double> shares = volume_shares(within(bounds, points), bounds.reference);
  const double largest = shares.empty() ? 0 : *std::max_element(shares.begin(), shares.end());
  choice.weights.assign(static_cast<std::size_t>(count_), 0);
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    choice.weights[numbers_[chosen[k]]] = largest > 0 ? std::max(shares[k] / largest, 1e-12) : 1;
  }
}

}  // namespace trainlab

#include "study/ranking.h"

#include <algorithm>
#include <cmath>

#include "pareto.h"

namespace trainlab {

std::vector<std::size_t> leaderboard(std::span<const StoredTrial> trials, bool maximize) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const StoredTrial& trial = trials[i];
    if (trial.state == TrialState::complete && !trial.values.empty() && !std::isnan(trial.values.front())) {
      places.push_back(i);
    }
  }
  const auto length = [&](std::size_t place) { return trials[place].segment.value_or(Segment{}).until; };
  std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
    if (length(a) != length(b)) return length(a) > length(b);
    const double x = trials[a].values.front(), y = trials[b].values.front();
    return maximize ? x > y : x < y;
  });
  return places;
}

std::vector<std::size_t> pareto_front(std::span<const StoredTrial> trials, const std::vector<bool>& maximize) {
  const std::vector<std::size_t> places = leaderboard(trials, maximize.front());
  std::vector<double> losses;
  for (const std::size_t place : places) {
    for (std::size_t k = 0; k < maximize.size(); ++k) {
      const double value = trials[place].values.at(k);
      losses.push_back(maximize[k] ? -value : value);
    }
  }
  const auto fronts = pareto_fronts(losses, maximize.size(), 1);
  std::vector<std::size_t> front;
  if (fronts.empty()) return front;
  for (const std::uint32_t i : fronts.front()) front.push_back(places[i]);
  return front;
}

}  // namespace trainlab

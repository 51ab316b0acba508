#include <algorithm>

#include "analysis/pareto.h"
#include "pruners/pruners.h"

namespace trainlab {

std::vector<double> Curves::oriented(std::vector<double> values) const {
  if (values.empty()) return values;
  values.resize(objectives());
  for (std::size_t k = 0; k < objectives(); ++k) {
    if (maximize_[k]) values[k] = -values[k];
  }
  return values;
}

std::vector<double> Curves::at(std::int64_t trial, std::int64_t resource) const {
  return oriented(trials_.mean_at(trial, resource));
}

std::vector<double> Curves::first_from(std::int64_t trial, std::int64_t resource) const {
  return oriented(trials_.mean_from(trial, resource));
}

std::vector<double> Curves::best_until(std::int64_t trial, std::int64_t resource) const {
  std::vector<double> best;
  bool is_there = false;
  walk(trial, [&](std::int64_t at, std::span<const double> values) {
    if (is_there) return;
    is_there = at >= resource;
    if (best.empty() || worst_if_nan(values.front()) < worst_if_nan(best.front()))
      best.assign(values.begin(), values.end());
  });
  return is_there ? best : std::vector<double>();
}

void Curves::walk(std::int64_t trial, const Trials::Visit& visit) const {
  trials_.walk(trial, [&](std::int64_t resource, std::span<const double> means) {
    visit(resource, oriented({means.begin(), means.end()}));
  });
}

std::vector<double> losses(std::vector<double> points, std::size_t objectives) {
  for (double& x : points) x = worst_if_nan(x);
  if (objectives == 1) return points;
  const std::size_t count = points.size() / objectives;
  std::vector<double> better(count);
  double before = 0;  // in earlier fronts
  for (const auto& front : pareto_fronts(points, objectives, count)) {
    const std::vector<double> distances = crowding(points, objectives, front);
    for (std::size_t i = 0; i < front.size(); ++i) {
      const auto freer = std::ranges::count_if(distances, [&](double other) { return other > distances[i]; });
      better[front[i]] = before + static_cast<double>(freer);
    }
    before += static_cast<double>(front.size());
  }
  return better;
}

}  // namespace trainlab

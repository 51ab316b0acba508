#include "pareto.h"

#include <algorithm>
#include <compare>
#include <functional>
#include <limits>
#include <numeric>

namespace trainlab {

std::vector<double> rows_at(std::span<const double> table, std::size_t width, std::span<const std::uint32_t> which) {
  std::vector<double> rows;
  for (const std::uint32_t i : which) {
    const auto row = table.subspan(i * width, width);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

bool dominates(std::span<const double> a, std::span<const double> b) {
  bool better = false;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k] > b[k]) return false;
    better = better || a[k] < b[k];
  }
  return better;
}

std::vector<std::vector<std::uint32_t>> pareto_fronts(std::span<const double> points, std::size_t objectives,
                                                      std::size_t enough) {
  const std::size_t n = points.size() / objectives;
  const auto at = [&](std::uint32_t i) { return points.subspan(i * objectives, objectives); };
  std::vector<std::uint32_t> left(n);
  std::iota(left.begin(), left.end(), 0U);
  // In order of values, no point is dominated by a later point.
  std::sort(left.begin(), left.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto x = at(a), y = at(b);
    const auto order = std::lexicographical_compare_three_way(x.begin(), x.end(), y.begin(), y.end());
    return std::is_neq(order) ? std::is_lt(order) : a < b;
  });
  std::vector<std::vector<std::uint32_t>> fronts;
  std::size_t placed = 0;
  while (!left.empty() && placed < enough) {
    std::vector<std::uint32_t> front, rest;
    for (const std::uint32_t i : left) {
      // With two objectives the last of the front has its least second value.
      const std::size_t from = objectives == 2 && !front.empty() ? front.size() - 1 : 0;
      const bool is_dominated = std::any_of(front.begin() + static_cast<std::ptrdiff_t>(from), front.end(),
                                            [&](std::uint32_t other) { return dominates(at(other), at(i)); });
      (is_dominated ? rest : front).push_back(i);
    }
    placed += front.size();
    std::sort(front.begin(), front.end());
    fronts.push_back(std::move(front));
    left = std::move(rest);
  }
  return fronts;
}

std::vector<double> crowding(std::span<const double> points, std::size_t objectives,
                             std::span<const std::uint32_t> front) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> distances(front.size());
  std::vector<std::size_t> order(front.size());
  for (std::size_t k = 0; k < objectives; ++k) {
    const auto value = [&](std::size_t place) { return points[front[place] * objectives + k]; };
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return value(a) < value(b); });
    const double range = value(order.back()) - value(order.front());
    distances[order.front()] = distances[order.back()] = infinity;
    if (!(range > 0) || range == infinity) continue;
    for (std::size_t i = 1; i + 1 < order.size(); ++i) {
      distances[order[i]] += (value(order[i + 1]) - value(order[i - 1])) / range;
    }
  }
  return distances;
}

double hypervolume(std::vector<std::vector<double>> points, std::span<const double> reference) {
  const std::size_t objectives = reference.size();
  std::erase_if(points, [&](const auto& point) {
    for (std::size_t k = 0; k < objectives; ++k) {
      if (!(point[k] < reference[k])) return true;
    }
    return false;
  });
  if (points.empty()) return 0;
  const std::size_t last = objectives - 1;
  std::sort(points.begin(), points.end(), [&](const auto& a, const auto& b) { return a[last] < b[last]; });
  if (objectives == 1) return reference[0] - points.front()[0];
  double volume = 0;
  if (objectives == 2) {
    double ceiling = reference[0];
    // From the best of the second objective on: each adds the strip by which its first value is better.
    for (const auto& point : points) {
      if (point[0] >= ceiling) continue;
      volume += (ceiling - point[0]) * (reference[1] - point[1]);
      ceiling = point[0];
    }
    return volume;
  }
  // A slice reaches from one point to the next of the last objective. What another point of the slice dominates adds
  // nothing to its area, so that slices stay small.
  std::vector<std::vector<double>> slice;
  double area = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto point = std::span<const double>(points[i]).first(last);
    const auto hides = [&](const auto& one, const auto& other) {
      return std::ranges::equal(one, other, std::less_equal());
    };
    if (std::ranges::none_of(slice, [&](const auto& other) { return hides(other, point); })) {
      std::erase_if(slice, [&](const auto& other) { return hides(point, other); });
      slice.emplace_back(point.begin(), point.end());
      area = hypervolume(slice, reference.first(last));
    }
    volume += ((i + 1 < points.size() ? points[i + 1][last] : reference[last]) - points[i][last]) * area;
  }
  return volume;
}

namespace {

std::vector<std::vector<double>> rows_of(std::span<const double> points, std::size_t objectives) {
  std::vector<std::vector<double>> rows;
  for (std::size_t i = 0; i < points.size(); i += objectives) {
    const auto row = points.subspan(i, objectives);
    rows.emplace_back(row.begin(), row.end());
  }
  return rows;
}

// The volume that a point adds to those of others: its own, less what the others have of it.
double added_volume(const std::vector<double>& point, std::vector<std::vector<double>> others,
                    std::span<const double> reference) {
  for (auto& other : others) std::ranges::transform(other, point, other.begin(), std::ranges::max);
  return hypervolume({point}, reference) - hypervolume(std::move(others), reference);
}

// Two objectives: what a point adds lies between its neighbours in the front.
std::vector<std::uint32_t> most_area(std::span<const double> points, std::span<const double> reference,
                                     std::size_t count) {
  const std::size_t n = points.size() / 2;
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return points[2 * a] < points[2 * b]; });
  std::vector<char> is_chosen(n, 0);
  std::vector<std::uint32_t> chosen;
  while (chosen.size() < std::min(count, n)) {
    // For each place, the chosen point to its left gives the ceiling, the chosen point to its right the wall.
    std::vector<double> wall(n, reference[0]);
    double right = reference[0];
    for (std::size_t k = n; k-- > 0;) {
      const std::size_t i = order[k];
      wall[k] = right;
      if (is_chosen[i]) right = points[2 * i];
    }
    double ceiling = reference[1], most = -1;
    std::uint32_t best = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t i = order[k];
      if (is_chosen[i]) {
        ceiling = points[2 * i + 1];
        continue;
      }
      const double area = std::max(wall[k] - points[2 * i], 0.0) * std::max(ceiling - points[2 * i + 1], 0.0);
      if (!(area <= most)) {  // also of values so large that they have no area
        most = area;
        best = order[k];
      }
    }
    is_chosen[best] = 1;
    chosen.push_back(best);
  }
  return chosen;
}

}  // namespace

std::vector<std::uint32_t> most_volume(std::span<const double> points, std::span<const double> reference,
                                       std::size_t count) {
  const std::size_t objectives = reference.size();
  if (objectives == 2) return most_area(points, reference, count);
  const auto rows = rows_of(points, objectives);
  std::vector<std::uint32_t> chosen;
  std::vector<std::vector<double>> kept;
  // A point adds less the more other points are chosen, so that a point whose bound is less than the volume that
  // another point adds need not be looked at.
  std::vector<double> bounds(rows.size(), std::numeric_limits<double>::infinity());
  std::vector<std::uint32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0U);
  while (chosen.size() < std::min(count, rows.size())) {
    std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) { return bounds[a] > bounds[b]; });
    double most = -1;
    std::size_t best = 0;  // a place in the order
    for (std::size_t place = 0; place < order.size() && bounds[order[place]] >= most; ++place) {
      const std::uint32_t i = order[place];
      bounds[i] = std::max(0.0, added_volume(rows[i], kept, reference));  // 0 for values so large that it is NaN
      if (bounds[i] > most || (bounds[i] == most && i < order[best])) {
        most = bounds[i];
        best = place;
      }
    }
    chosen.push_back(order[best]);
    kept.push_back(rows[order[best]]);
    order.erase(order.begin() + static_cast<std::ptrdiff_t>(best));
  }
  return chosen;
}

std::vector<double> volume_shares(std::span<const double> points, std::span<const double> reference) {
  const std::size_t objectives = reference.size();
  const auto rows = rows_of(points, objectives);
  std::vector<double> shares;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto others = rows;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    shares.push_back(std::max(added_volume(rows[i], std::move(others), reference), 0.0));
  }
  return shares;
}

}  // namespace trainlab

#include "health/floor.h"

#include <algorithm>
#include <cmath>

namespace trainlab {

namespace {

constexpr std::size_t fewest_groups = 30;
constexpr double two_sided = 1.96;  // standard errors of a 95 % interval

// The share of the pairs of labels that differ.
double differing_share(std::span<const std::int64_t> labels) {
  double pairs = 0, differing = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      ++pairs;
      differing += labels[i] == labels[j] ? 0 : 1;
    }
  }
  return differing / pairs;
}

double wrong_share(double differing, double classes) {
  const double most = (classes - 1) / classes;  // of labels that are drawn
  return most * (1 - std::sqrt(std::max(1 - differing / most, 0.0)));
}

double floor_of(double wrong, double classes) {
  const double x = std::clamp(wrong, 0.0, (classes - 1) / classes);
  if (x == 0) return 0;
  return -(1 - x) * std::log(1 - x) - x * std::log(x / (classes - 1));
}

}  // namespace

std::optional<LabelFloor> label_floor(std::span<const std::vector<std::int64_t>> groups, std::int64_t classes) {
  if (groups.size() < fewest_groups || classes < 2) return std::nullopt;
  // A group of n labels says as much as n − 1 pairs that have nothing to do with each other.
  double weights = 0, sum = 0;
  for (const auto& labels : groups) {
    const auto weight = static_cast<double>(labels.size() - 1);
    weights += weight;
    sum += weight * differing_share(labels);
  }
  const double differing = sum / weights;
  double squares = 0;
  for (const auto& labels : groups) {
    const double away = static_cast<double>(labels.size() - 1) * (differing_share(labels) - differing);
    squares += away * away;
  }
  const double half = two_sided * std::sqrt(squares) / weights;
  if (differing - half <= 0) return std::nullopt;
  const auto k = static_cast<double>(classes);
  const auto loss = [&](double share) { return floor_of(wrong_share(share, k), k); };
  return LabelFloor{.loss = loss(differing),
                    .low = loss(differing - half),
                    .high = loss(differing + half),
                    .wrong_labels = wrong_share(differing, k),
                    .groups = std::ssize(groups)};
}

Value to_value(const LabelFloor& floor) {
  return Value::Map{{"loss", floor.loss},
                    {"low", floor.low},
                    {"high", floor.high},
                    {"wrong_labels", floor.wrong_labels},
                    {"groups", floor.groups}};
}

}  // namespace trainlab

#include "health/floor.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace trainlab {

namespace {

constexpr std::size_t fewest_groups = 30;
constexpr double two_sided = 1.96;  // standard errors of a 95 % interval

double pairs_of(std::int64_t count) { return static_cast<double>(count) * static_cast<double>(count - 1) / 2; }

// The share of the pairs of labels that differ.
double differing_share(std::span<const std::int64_t> labels) {
  std::unordered_map<std::int64_t, std::int64_t> counts;
  for (const std::int64_t label : labels) ++counts[label];
  const double pairs = pairs_of(std::ssize(labels));
  double equal = 0;
  for (const auto& [label, count] : counts) equal += pairs_of(count);
  return (pairs - equal) / pairs;
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

double deviation_of(double wrong, double classes) {
  return std::sqrt(wrong * (1 - wrong)) * std::log((1 - wrong) * (classes - 1) / wrong);
}

}  // namespace

std::optional<LabelFloor> label_floor(std::span<const std::vector<std::int64_t>> groups, std::int64_t classes) {
  if (groups.size() < fewest_groups || classes < 2) return std::nullopt;
  // A group of n labels says as much as n − 1 pairs that have nothing to do with each other.
  struct Group {
    double weight, share;
  };
  std::vector<Group> all;
  double weights = 0, sum = 0;
  for (const auto& labels : groups) {
    const Group one{.weight = static_cast<double>(labels.size() - 1), .share = differing_share(labels)};
    all.push_back(one);
    weights += one.weight;
    sum += one.weight * one.share;
  }
  const double differing = sum / weights;
  double squares = 0;
  for (const auto& [weight, share] : all) squares += std::pow(weight * (share - differing), 2);
  const double half = two_sided * std::sqrt(squares) / weights;
  if (differing - half <= 0) return std::nullopt;
  const auto k = static_cast<double>(classes);
  constexpr double two = 2;  // classes that the labels of one sample have, where all wrong ones are the same
  return LabelFloor{.loss = floor_of(wrong_share(differing, k), k),
                    .low = floor_of(wrong_share(differing - half, two), two),
                    .high = floor_of(wrong_share(differing + half, k), k),
                    .wrong_labels = wrong_share(differing, k),
                    .deviation = deviation_of(wrong_share(differing, two), two),
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

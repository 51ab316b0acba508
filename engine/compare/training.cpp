#include "compare/training.h"

#include <cmath>
#include <limits>
#include <utility>

#include "core/number_or_nil.h"
#include "core/statistics.h"

namespace trainlab::compare {

namespace {

double interpolated(const Point& before, const Point& after, double value) {
  const double share = (value - before.value) / (after.value - before.value);
  return before.seconds + share * (after.seconds - before.seconds);
}

}  // namespace

Training training(std::span<const Point> validations, const Target& target) {
  Training result;
  const Point* before = nullptr;
  for (const Point& point : validations) {
    result.seconds = point.seconds;
    result.samples = point.samples;
    if (std::isnan(point.value)) continue;
    if (!result.arrival && target.is_reached_by(point.value)) {
      result.is_first = !before;
      result.arrival = before ? interpolated(*before, point, target.value) : point.seconds;
    }
    before = &point;
    result.watched = point.seconds;
  }
  const double most = std::numeric_limits<double>::infinity();
  result.best = best_within(validations, most, target.minimize).value_or(std::nan(""));
  if (before) result.value = before->value;
  return result;
}

double samples_apart(std::span<const Point> validations) {
  std::vector<double> gaps;
  double before = 0;
  for (const Point& point : validations) {
    if (!(point.samples > before)) continue;
    gaps.push_back(point.samples - before);
    before = point.samples;
  }
  return gaps.empty() ? std::nan("") : upper_median(std::move(gaps));
}

bool is_much_farther(double apart, double other) { return apart > 1.5 * other; }

std::vector<Point> counted(std::span<const Point> validations, double apart_in_other) {
  if (!is_much_farther(apart_in_other, samples_apart(validations))) return {validations.begin(), validations.end()};
  std::vector<Point> kept;
  double next = apart_in_other;
  for (const Point& point : validations) {
    if (point.samples < next && &point != &validations.back()) continue;
    kept.push_back(point);
    while (next <= point.samples) next += apart_in_other;
  }
  return kept;
}

std::optional<double> best_within(std::span<const Point> validations, double seconds, bool minimize) {
  std::optional<Point> best;
  for (Point point : validations) {
    if (std::isnan(point.value)) continue;
    if (best && !(minimize ? point.value < best->value : point.value > best->value)) point.value = best->value;
    if (point.seconds > seconds) {
      if (best)
        best->value += (seconds - best->seconds) / (point.seconds - best->seconds) * (point.value - best->value);
      break;
    }
    best = point;
  }
  return best ? std::optional(best->value) : std::nullopt;
}

void Training::fail() {
  has_failed = true;
  arrival = std::nullopt;
  is_first = false;
  value = std::nullopt;
}

Value Training::to_value() const {
  return Value::Map{{"seconds", seconds},
                    {"watched", watched},
                    {"arrival", number_or_nil(arrival)},
                    {"is_first", is_first},
                    {"value", number_or_nil(value)},
                    {"best", best},
                    {"apart", finite_or_nil(apart)},
                    {"samples", samples},
                    {"flops", finite_or_nil(flops)},
                    {"has_failed", has_failed},
                    {"was_resumed", was_resumed}};
}

Training Training::from_value(const Value& value) {
  const double seconds = value["seconds"].number();
  const std::optional<double> arrival = number_or_none(value["arrival"]);
  return {.seconds = seconds,
          .watched = number_or_none(value["watched"]).value_or(seconds),  // earlier versions did not store it
          .arrival = arrival,
          .is_first = value["is_first"].boolean() && arrival,  // also in a record that says otherwise
          .value = number_or_none(value["value"]),
          .best = number_or_none(value["best"]).value_or(std::nan("")),
          .apart = number_or_none(value["apart"]).value_or(std::nan("")),
          .samples = number_or_none(value["samples"]).value_or(std::nan("")),
          .flops = number_or_none(value["flops"]).value_or(std::nan("")),
          .has_failed = value["has_failed"].boolean(),
          .was_resumed = value["was_resumed"].is_boolean() && value["was_resumed"].boolean()};
}

}  // namespace trainlab::compare

#include "compare/judgement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "compare/spread.h"
#include "core/statistics.h"

namespace trainlab::compare {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The differences of the times or of the qualities within pairs, with their mean, its standard error and interval.
struct Differences {
  std::vector<double> values;
  double mean = std::nan("");
  double error = infinity;  // standard error of the mean
  Interval interval{std::nan(""), -infinity, infinity};

  int count() const { return static_cast<int>(values.size()); }
  double t() const { return mean == 0 ? 0 : mean / error; }
  double deviation() const { return error * std::sqrt(static_cast<double>(values.size())); }  // NaN or ∞ where unknown
};

// a and b: the values of those of the `pairs` pairs that have both.
Differences differences(const std::vector<double>& a, const std::vector<double>& b, int pairs, const Looks& looks) {
  Differences result;
  for (std::size_t i = 0; i < a.size(); ++i) result.values.push_back(b[i] - a[i]);
  const MeanAndError found = mean_and_error(result.values);
  result.mean = result.interval.mean = found.mean;
  if (a.size() < 2) return result;
  std::vector<double> all = a;
  all.insert(all.end(), b.begin(), b.end());
  // Metrics that count samples take few values, and a few differences may all be equal by chance. The variance is
  // therefore increased by that of rounding: resolution² / 12 for each of the two sides.
  const double resolution = resolution_of(std::move(all));
  const double variance = found.deviation * found.deviation + resolution * resolution / 6;
  result.error = std::sqrt(variance / static_cast<double>(a.size()));
  const double critical = looks.critical_t(pairs, result.count());
  if (!std::isinf(critical)) {
    result.interval.low = result.mean - critical * result.error;
    result.interval.high = result.mean + critical * result.error;
  }
  return result;
}

// The differences within pairs between the logarithms of both times to the target.
Differences times(std::span<const Pair> pairs, const Window& window, const Looks& looks) {
  std::vector<double> a, b;
  // Shorter times count as a nanosecond, the resolution of clocks, so that the logarithm is finite.
  const auto log_time = [&](const Training& one) {
    const std::optional<double> bound = bound_of(one, window);
    return std::log(std::max(bound ? *bound : *one.arrival, 1e-9));
  };
  for (const Pair& pair : pairs) {
    a.push_back(log_time(pair.a));
    b.push_back(log_time(pair.b));
  }
  return differences(a, b, static_cast<int>(pairs.size()), looks);
}

template <class Values>
Differences quality(std::span<const Pair> pairs, const Looks& looks, const Values& values) {
  std::vector<double> a, b;
  for (const Pair& pair : pairs) {
    const auto [of_a, of_b] = values(pair);
    if (!of_a || !of_b) continue;
    a.push_back(*of_a);
    b.push_back(*of_b);
  }
  return differences(a, b, static_cast<int>(pairs.size()), looks);
}

using Two = std::pair<std::optional<double>, std::optional<double>>;

Speed speed_word(const Interval& log_ratio, bool is_bounded) {
  const double tau = std::log(relevant_ratio);
  if (log_ratio.high < 0) return Speed::faster;
  if (log_ratio.low > 0) return Speed::slower;
  // A ratio that is only a bound cannot show equality.
  if (!is_bounded && log_ratio.low > -tau && log_ratio.high < tau) return Speed::equal;
  return Speed::unclear;
}

// `gain`: how much better B's value is than A's; positive is better.
Quality quality_word(const Interval& gain, std::optional<double> margin) {
  if (gain.low > 0) return Quality::better;
  if (margin && gain.low > -*margin) return Quality::not_worse;
  return gain.high < 0 ? Quality::worse : Quality::unclear;
}

Interval oriented(const Interval& interval, bool minimize) {
  return minimize ? Interval{-interval.mean, -interval.high, -interval.low} : interval;
}

// The logarithm of a training's seconds for a sample; nullopt where it has none, or where a new process has begun in
// it.
std::optional<double> log_pace(const Training& one) {
  if (one.has_failed || one.was_resumed || !(one.samples > 0) || !(one.seconds > 0)) return std::nullopt;
  return std::log(one.seconds / one.samples);
}

// The pairs' paces, in the order of their training: the mean over both sides, so that a pair counts once.
double drift_of(std::span<const Pair> pairs) {
  std::vector<double> paces;
  for (const Pair& pair : pairs) {
    const std::optional<double> a = log_pace(pair.a), b = log_pace(pair.b);
    if (a && b) paces.push_back((*a + *b) / 2);
  }
  const std::size_t half = paces.size() / 2;
  if (half < 2) return std::nan("");
  const std::span all(paces);
  const auto mean = [](std::span<const double> part) { return mean_and_error(part).mean; };
  return std::exp(mean(all.last(half)) - mean(all.first(half))) - 1;
}

double effect_of_speed(const Differences& time, bool is_bounded) {
  const double size = std::abs(time.mean);
  return (is_bounded ? size : std::max(size, std::log(relevant_ratio) - size)) / time.deviation();
}

bool is_early(const Training& training, const Window& window) {
  return training.is_first || (training.arrival && window.begin && *training.arrival < *window.begin);
}

bool is_late(const Training& training, const Window& window) {
  return !training.arrival || (!training.is_first && window.end && *training.arrival > *window.end);
}

// The seconds for which the trainings of a side that lack the target count as watched; nullopt where none lacks it.
std::optional<double> usual_end(std::span<const Pair> pairs, Training Pair::*side) {
  std::vector<double> all, without_target;
  for (const Pair& pair : pairs) {
    const Training& one = pair.*side;
    if (one.has_failed) continue;
    all.push_back(one.watched);
    if (!one.arrival) without_target.push_back(one.watched);
  }
  if (without_target.empty()) return std::nullopt;
  return std::max(median(std::move(all)), median(std::move(without_target)));
}

// The usual seconds of a side's first validations that had reached the target; nullopt where none had.
std::optional<double> usual_begin(std::span<const Pair> pairs, Training Pair::*side) {
  std::vector<double> firsts;
  for (const Pair& pair : pairs) {
    if ((pair.*side).is_first) firsts.push_back(*(pair.*side).arrival);
  }
  return firsts.empty() ? std::nullopt : std::optional(median(std::move(firsts)));
}

// The median of B's amounts divided by A's; NaN where no pair has both.
double median_ratio(std::span<const Pair> pairs, double Training::*amount) {
  std::vector<double> ratios;
  for (const Pair& pair : pairs) {
    const double a = pair.a.*amount, b = pair.b.*amount;
    if (!pair.a.has_failed && !pair.b.has_failed && a > 0 && b > 0) ratios.push_back(b / a);
  }
  return ratios.empty() ? std::nan("") : median(std::move(ratios));
}

Tally tally_of(std::span<const Pair> pairs, Training Pair::*side, const Window& window) {
  Tally tally;
  for (const Pair& pair : pairs) {
    const Training& one = pair.*side;
    tally.failed += one.has_failed ? 1 : 0;
    if (!one.arrival) continue;
    ++tally.arrived;
    tally.first += one.is_first ? 1 : 0;
    tally.sooner += !one.is_first && is_early(one, window) ? 1 : 0;
    tally.later += is_late(one, window) ? 1 : 0;
  }
  return tally;
}

}  // namespace

bool is_unequal(double ratio) {
  constexpr double tolerated = 1.1;
  return ratio > tolerated || ratio < 1 / tolerated;
}

Window common_window(std::span<const Pair> pairs) {
  Window window;
  double longest = 0;
  bool has_failed = false;
  for (const auto side : {&Pair::a, &Pair::b}) {
    for (const Pair& pair : pairs) {
      longest = std::max(longest, (pair.*side).watched);
      has_failed |= (pair.*side).has_failed;
    }
    if (const auto end = usual_end(pairs, side)) window.end = std::min(window.end.value_or(*end), *end);
    if (const auto begin = usual_begin(pairs, side)) window.begin = std::max(window.begin.value_or(*begin), *begin);
  }
  if (has_failed && !window.end) window.end = longest;
  if (window.begin && window.end) window.begin = std::min(*window.begin, *window.end);
  return window;
}

std::optional<double> bound_of(const Training& training, const Window& window) {
  if (is_early(training, window)) return window.begin;
  return is_late(training, window) ? window.end : std::nullopt;
}

Judgement judge(std::span<const Pair> pairs, const Target& target, std::optional<double> margin, const Looks& looks) {
  Judgement result{.pairs = static_cast<int>(pairs.size())};
  result.window = common_window(pairs);
  result.a = tally_of(pairs, &Pair::a, result.window);
  result.b = tally_of(pairs, &Pair::b, result.window);
  if (!pairs.empty()) result.failures_p = fisher_p(result.a.failed, result.b.failed, result.pairs);
  // A's true times may be longer than those with which they count, or shorter; and B's.
  const auto may_be_longer = [&](const Tally& side) { return side.arrived - side.later < result.pairs; };
  const auto may_be_shorter = [](const Tally& side) { return side.first + side.sooner > 0; };
  const bool knows_low = !may_be_shorter(result.a) && !may_be_longer(result.b);
  const bool knows_high = !may_be_longer(result.a) && !may_be_shorter(result.b);
  result.is_bounded = !knows_low || !knows_high;

  const Differences time = times(pairs, result.window, looks);
  result.speed = speed_word(time.interval, result.is_bounded);
  result.ratio = {std::exp(-time.interval.mean), knows_low ? std::exp(-time.interval.high) : 0,
                  knows_high ? std::exp(-time.interval.low) : infinity};
  if (result.pairs > 1) result.p = looks.p_value(time.t(), result.pairs);
  const double faster_by = -time.mean / time.deviation();
  result.speed_effect = std::isfinite(faster_by) && result.pairs > 1 ? faster_by : std::nan("");
  result.drift = drift_of(pairs);

  const Differences delivered = quality(pairs, looks, [](const Pair& pair) { return Two(pair.a.value, pair.b.value); });
  const Interval gain = oriented(delivered.interval, target.minimize);
  result.budgets = {.seconds = median_ratio(pairs, &Training::seconds), .flops = median_ratio(pairs, &Training::flops)};
  result.difference = delivered.interval;
  result.without_value = result.pairs - delivered.count();
  result.quality = quality_word(gain, margin);
  const Differences at_equal_time =
      quality(pairs, looks, [](const Pair& pair) { return Two(pair.a_at_equal_time, pair.b_at_equal_time); });
  result.at_equal_time = at_equal_time.interval;
  result.pairs_at_equal_time = at_equal_time.count();
  result.quality_at_equal_time = quality_word(oriented(result.at_equal_time, target.minimize), margin);

  const bool asks_speed = result.speed == Speed::unclear;
  const bool asks_quality = margin && result.speed != Speed::slower && result.quality == Quality::unclear;
  result.is_clear = !asks_speed && !asks_quality;
  result.effect = infinity;
  if (asks_speed) result.effect = effect_of_speed(time, result.is_bounded);
  if (asks_quality) {
    const double size = std::max(std::abs(gain.mean), gain.mean + *margin);
    const double effect = size / delivered.deviation();
    // Without two values on both sides nothing is known of the quality, which any number of pairs may be too few for.
    result.effect = std::isnan(effect) ? 0 : std::min(result.effect, effect);
  }
  return result;
}

}  // namespace trainlab::compare

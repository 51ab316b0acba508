#include "forecast/forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/statistics.h"
#include "families.h"
#include "finished.h"

namespace trainlab {
namespace {

// The least factors of the interval's half-width with which at least 80 % of trainings were held, whatever share of
// them was seen (docs/forecasts.md). The last value may still turn for the worse at a constant rate; a best value
// cannot.
constexpr double factor_of_last = 1.5, factor_of_best = 0.7, factor_of_falling_rate = 0.5;
// The last half's fall counts up to this many times; by noise it may be any number of times that of the half before it.
constexpr double most_growth = 8;
// How many times as long as it is a curve is continued at most: farther ahead, nobody has tried how well that goes.
constexpr double farthest = 20;
// Weight of the oldest validation; the newest has the weight 1.
constexpr double oldest_weight = 0.3;

// The curve in the form that the fits take: smaller values are better, and the largest absolute value and the last x
// are 1.
struct Oriented {
  std::vector<FittedPoint> points;
  LimitBounds bounds;
  double unit = 1;  // one unit of y in the metric; negative where larger values are better
};

Oriented oriented(const LearningCurve& curve, bool keeps_best) {
  const std::vector<CurvePoint>& points = curve.points();
  Oriented all;
  double size = 0;
  for (const CurvePoint& one : points) size = std::max(size, std::abs(one.value));
  if (size > 0) all.unit = size;
  if (!curve.minimize()) all.unit = -all.unit;
  bool is_positive = true, is_share = true;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double age = static_cast<double>(i) / static_cast<double>(points.size() - 1);
    const double value = keeps_best ? points[i].best : points[i].value;
    all.points.push_back({.x = points[i].step / points.back().step,
                          .y = value / all.unit,
                          .weight = oldest_weight + (1 - oldest_weight) * age});
    is_positive = is_positive && value >= 0;
    is_share = is_share && value >= 0 && value <= 1;
  }
  all.bounds = {.low = -std::numeric_limits<double>::infinity(), .high = points.back().best / all.unit};
  if (curve.minimize() && is_positive) all.bounds.low = 0;
  if (!curve.minimize() && is_share) all.bounds.low = 1 / all.unit;
  return all;
}

// The mean of the curve's points between two x, or the point nearest to their middle where none lies between them.
double mean_between(const std::vector<FittedPoint>& points, double from, double to) {
  double sum = 0, count = 0, nearest = points.back().y, distance = 1;
  for (const FittedPoint& one : points) {
    if (one.x >= from && one.x <= to) {
      sum += one.y;
      count += 1;
    }
    if (const double away = std::abs(one.x - (from + to) / 2); away < distance) {
      distance = away;
      nearest = one.y;
    }
  }
  return count > 0 ? sum / count : nearest;
}

// The average of the families, weighted by the Bayesian information criterion.
struct Averaged {
  double level = 0;      // value of the curve now, corrected for families that do not suit the curve
  double change = 0;     // change until the later step
  double deviation = 0;  // standard deviation of the residuals
};

Averaged averaged(const std::vector<FamilyFit>& fits, double count) {
  // Fits that are exact to rounding are equally good.
  constexpr double exact = 1e-12;
  double largest = 0;
  for (const FamilyFit& one : fits) largest = std::max(largest, one.squares);
  const auto criterion = [&](const FamilyFit& one) {
    return count * std::log(std::max(one.squares, exact * largest + std::numeric_limits<double>::min())) +
           one.parameters * std::log(count);
  };
  double least = std::numeric_limits<double>::infinity();
  for (const FamilyFit& one : fits) least = std::min(least, criterion(one));
  Averaged all;
  double weights = 0, squares = 0;
  for (const FamilyFit& one : fits) {
    const double weight = std::exp((least - criterion(one)) / 2);
    weights += weight;
    all.level += weight * one.level;
    all.change += weight * one.change;
    squares += weight * one.squares;
  }
  all.level /= weights;
  all.change /= weights;
  all.deviation = std::sqrt(squares / weights / count);
  return all;
}

Averaged fitted(const std::vector<FittedPoint>& points, double reach, const LimitBounds& bounds) {
  return averaged(fit_families(points, reach, bounds), static_cast<double>(points.size()));
}

// The share of an earlier forecast change that has come true. The curve is cut at an earlier point, and forecast from
// there until now; where the curve is long enough, this forecast reaches as far ahead as the one in question. The share
// is from 0, where the last value would have been the better forecast, to 1.
double come_true(const std::vector<FittedPoint>& points, double reach, LimitBounds bounds, double level) {
  const double cut = std::clamp(1 / reach, 0.5, 0.75);
  std::vector<FittedPoint> before;
  for (const FittedPoint& one : points) {
    if (one.x <= cut) before.push_back(one);
  }
  if (std::ssize(before) < fewest_validations) return 1;
  const double last = before.back().x;
  bounds.high = std::numeric_limits<double>::infinity();
  for (FittedPoint& one : before) {
    one.x /= last;
    bounds.high = std::min(bounds.high, one.y);
  }
  const Averaged then = fitted(before, 1 / last, bounds);
  return then.change < 0 ? std::clamp((level - then.level) / then.change, 0.0, 1.0) : 1;
}

// The standard deviation of single validations around their trend.
double noise_of(const LearningCurve& curve) {
  const Oriented values = oriented(curve, false);
  return std::abs(values.unit) * fitted(values.points, 1, values.bounds).deviation;
}

// Half the width of the interval for the noise of single validations and the fall that the curve itself shows.
double half_width(const Oriented& all, const ForecastQuestion& question, double reach, double deviation) {
  const double middle = mean_between(all.points, 0.4, 0.6);
  const double before = std::abs(mean_between(all.points, 0.2, 0.3) - middle);
  const double fallen = std::abs(middle - mean_between(all.points, 0.85, 1));
  // A curve that has begun to fall late may fall faster yet.
  const double growth = fallen > before ? std::min(fallen / before, most_growth) : 1;
  const double factor = question.rate_falls   ? factor_of_falling_rate
                        : question.keeps_best ? factor_of_best
                                              : factor_of_last;
  return std::hypot(factor * fallen * growth * (reach - 1) * std::log2(reach), normal_quantile_90 * deviation);
}

std::string short_text(double x) { return fmt::format("{:.3g}", x); }

// forecast_of(), however far ahead the step is.
std::optional<Forecast> continued(const LearningCurve& curve, const std::string& metric,
                                  const ForecastQuestion& question, std::span<const FinishedCurve> finished) {
  if (curve.validations() == 0) return std::nullopt;
  const CurvePoint& last = curve.points().back();
  const double now = question.keeps_best ? last.best : last.value;
  const auto at = static_cast<double>(question.at);
  if (at <= last.step) return Forecast{.metric = metric, .value = now, .low = now, .high = now, .at = question.at};
  if (curve.validations() < fewest_validations) return std::nullopt;

  const Oriented all = oriented(curve, question.keeps_best);
  const double reach = at / last.step;
  const double length = question.length > 0 ? static_cast<double>(question.length) : at;
  const FromFinished before = from_finished(finished, {.now = 1 / (length / last.step), .end = at / length}, now,
                                            question.keeps_best, [&] { return noise_of(curve); });
  double value = before.value / all.unit, half = before.half / std::abs(all.unit);
  if (before.references == 0) {
    const Averaged found = fitted(all.points, reach, all.bounds);
    value = found.level + come_true(all.points, reach, all.bounds, found.level) * found.change;
    half = half_width(all, question, reach, found.deviation);
  }
  // A best value never becomes worse.
  const double worst = question.keeps_best ? all.points.back().y : std::numeric_limits<double>::infinity();
  const auto possible = [&](double y) { return std::clamp(y, all.bounds.low, worst); };
  const auto in_metric = [&](double y) { return all.unit * possible(y); };
  Forecast forecast{.metric = metric,
                    .value = in_metric(value),
                    .low = in_metric(value - half),
                    .high = in_metric(value + half),
                    .at = question.at,
                    .at_is_estimate = question.at_is_estimate,
                    .rate_falls = question.rate_falls && before.references == 0,  // a finished curve has seen the fall
                    .references = before.references,
                    .of_other_data = before.references > 0 && finished.front().of_other_data};
  if (forecast.low > forecast.high) std::swap(forecast.low, forecast.high);
  return forecast;
}

}  // namespace

std::optional<Forecast> forecast_of(const LearningCurve& curve, const std::string& metric,
                                    const ForecastQuestion& question, std::span<const FinishedCurve> finished) {
  const std::optional<Forecast> forecast = continued(curve, metric, question, finished);
  const bool is_too_far =
      forecast && forecast->references == 0 && static_cast<double>(question.at) > farthest * curve.points().back().step;
  return is_too_far ? std::nullopt : forecast;
}

std::optional<double> most_gain(const LearningCurve& curve, std::int64_t at) {
  if (curve.validations() < fewest_for_gain) return std::nullopt;
  const Forecast best_until = *continued(curve, "", {.at = at, .keeps_best = true}, {});
  const double best = curve.points().back().best;
  return curve.minimize() ? best - best_until.low : best_until.high - best;
}

Value to_value(const Forecast& forecast) {
  return Value::Map{{"metric", forecast.metric},
                    {"value", forecast.value},
                    {"low", forecast.low},
                    {"high", forecast.high},
                    {"at", forecast.at},
                    {"at_is_estimate", forecast.at_is_estimate},
                    {"rate_falls", forecast.rate_falls},
                    {"references", forecast.references},
                    {"of_other_data", forecast.of_other_data}};
}

std::string text_of(const Forecast& forecast) {
  return forecast.metric + " " + short_text(forecast.value) + " (" + short_text(forecast.low) + " to " +
         short_text(forecast.high) + ")" + (forecast.rate_falls ? ", or better" : "") +
         (forecast.references == 0   ? ""
          : forecast.references == 1 ? ", from a finished run"
                                     : fmt::format(", from {} finished runs", forecast.references)) +
         (forecast.of_other_data ? " on other data" : "");
}

}  // namespace trainlab

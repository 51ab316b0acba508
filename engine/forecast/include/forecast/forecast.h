// The forecast of a learning curve: the value of a metric at a later step, with an interval.
//
// Where the same training has ended before, with other seeds for example, its curves tell where this one goes: one of
// them says more than all formulas. Otherwise four families of falling curves are fitted to the validations so far, and
// their changes until the later step are averaged with weights by the Bayesian information criterion (Mohr and van Rijn
// 2022: LCDB, which has the families). A forecast from an earlier point of the curve shows which share of a forecast
// change has come true; the new change is multiplied by this share. The interval does not come from the fits, because
// theirs would be too narrow: its half-width is q · f · g · (T / m − 1) · log2(T / m), where m is the last step, T the
// later one, f = |y(m/2) − y(m)| the fall of the curve y in its last half, g = f / |y(m/4) − y(m/2)| as far as it is
// from 1 to 8, and q a factor for what is forecast. How many of these intervals hold the final value of a training was
// measured: see docs/forecasts.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/value.h"
#include "forecast/learning_curve.h"

namespace trainlab {

struct Forecast {
  std::string metric;
  double value = 0;
  double low = 0, high = 0;     // the bounds hold the value in about 80 % of trainings
  std::int64_t at = 0;          // optimizer steps done at the forecast value
  bool at_is_estimate = false;  // whether a budget ends the training at a step that nobody knows yet
  bool rate_falls = false;      // the learning rate will fall, which the curve so far does not show: then the forecast
                                // value is more often too bad than too good
  std::int64_t references = 0;  // the finished curves from which the forecast comes; 0: from this curve alone
  bool of_other_data = false;   // whether these are of trainings on other data
};

// The curve of a training that has ended: at its length, or before it because a rule said so.
struct FinishedCurve {
  LearningCurve curve;
  double length = 0;           // optimizer steps that the training was to have
  bool of_other_data = false;  // whether the training differs from the one in question by its data
};

struct ForecastQuestion {
  std::int64_t at = 0;          // optimizer steps
  std::int64_t length = 0;      // that the training was to have, where a budget ends it before, at step `at`; 0: `at`
  bool at_is_estimate = false;  // Forecast::at_is_estimate
  bool keeps_best = false;      // whether the best value until step `at` is forecast, or else the value at this step
  bool rate_falls = false;
};

// A curve with fewer validations is not forecast.
inline constexpr std::int64_t fewest_validations = 5;

// `finished`: curves of the same training, from its first step on; of the length in question, or of another length that
// has the same course. Those that had ended at the share of their length at which this curve is now are left out: what
// comes next is told by those that went on. So a rule's stops count as they will for this training, whose forecast is
// the value with which the rule, the length or a budget ends it. All or none of them are of other data; of these one
// alone says nothing, because it does not show how much other data change. A pure function. nullopt where the curve has
// too few validations, or where nothing but itself tells of a step more than 20 times as far as it has come. If `at` is
// not after the curve's last step, the forecast and both bounds are the last value. Values are never forecast beyond a
// bound that the metric seems to have: 0 for a metric to minimise that was never negative, 1 for a metric to maximise
// that was always between 0 and 1.
std::optional<Forecast> forecast_of(const LearningCurve& curve, const std::string& metric,
                                    const ForecastQuestion& question, std::span<const FinishedCurve> finished = {});

// With fewer validations, a curve that has not begun to fall looks like a curve that has ended.
inline constexpr std::int64_t fewest_for_gain = 10;

// How much better than the best value so far the best value until step `at`, which is later than the curve's last step,
// may become at a learning rate that does not fall: up to the better end of the forecast's interval. In the metric's
// unit, not negative. A pure function. nullopt with fewer than fewest_for_gain validations.
std::optional<double> most_gain(const LearningCurve& curve, std::int64_t at);

// { metric, value, low, high, at, at_is_estimate, rate_falls, references, of_other_data }, as in summary.json.
Value to_value(const Forecast& forecast);

// "val.loss 0.312 (0.29 to 0.331)", with ", or better" where the rate falls, or with ", from 3 finished runs" and
// " on other data".
std::string text_of(const Forecast& forecast);

}  // namespace trainlab

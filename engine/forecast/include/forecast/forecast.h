// The forecast of a learning curve: the value of a metric at a later step, with an interval.
//
// Four families of falling curves are fitted to the validations so far, and their changes until the later step are
// averaged with weights by the Bayesian information criterion (Mohr and van Rijn 2022: LCDB, which has the families).
// A forecast from an earlier point of the curve shows which share of a forecast change has come true; the new change is
// multiplied by this share. The interval does not come from the fits, because theirs would be too narrow: its
// half-width is 3 · |y(m/2) − y(m)| · log2(T / m), where m is the last step, T the later one, and y the curve. How many
// of these intervals hold the final value of a training was measured: see docs/forecasts.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/value.h"
#include "forecast/learning_curve.h"

namespace trainlab {

struct Forecast {
  std::string metric;
  double value = 0;
  double low = 0, high = 0;  // the bounds hold the value in about 80 % of trainings
  std::int64_t at = 0;       // optimizer steps done at the forecast value
  bool rate_falls = false;   // the learning rate will fall, which the curve so far does not show: then the forecast
                             // value is more often too bad than too good
};

struct ForecastQuestion {
  std::int64_t at = 0;      // optimizer steps
  bool keeps_best = false;  // whether the best value until step `at` is forecast, or else the value at this step
  bool rate_falls = false;
};

// A curve with fewer validations is not forecast.
inline constexpr std::int64_t fewest_validations = 5;

// A pure function. nullopt where the curve has too few validations. If `at` is not after the curve's last step, the
// forecast and both bounds are the last value. Values are never forecast beyond a bound that the metric seems to have:
// 0 for a metric to minimise that was never negative, 1 for a metric to maximise that was always between 0 and 1.
std::optional<Forecast> forecast_of(const LearningCurve& curve, const std::string& metric,
                                    const ForecastQuestion& question);

// { metric, value, low, high, at, rate_falls }, as in summary.json.
Value to_value(const Forecast& forecast);

// "val.loss 0.312 (0.290 to 0.331)", and ", or better" where the rate falls.
std::string text_of(const Forecast& forecast);

}  // namespace trainlab

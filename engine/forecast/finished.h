// Forecasts from curves that have ended. Private to the module.
#pragma once

#include <functional>
#include <span>

#include "forecast/forecast.h"

namespace trainlab {

struct FromFinished {
  double value = 0, half = 0;   // half the width of the interval
  std::int64_t references = 0;  // the curves that were used; 0: none suits
};

// SharesOfLength (0 … 1) of the length that a training was to have.
struct SharesOfLength {
  double now = 0;  // done
  double end = 1;  // done in the end, less than 1 where a budget ends the training
};

// The last value of a curve whose value now is `now`, from finished curves of the same training. `keeps_best`: of the
// best values.
//
// Forecasts that this curve goes on as each finished curve did between the two shares; curves that had ended at the
// first of them are left out. The value is multiplied by the same factor (metrics that are minimised and positive, up
// to three quarters of the steps), or changes by the same amount. From eight curves on, the last value is a regression
// on the value at the first share, so that a training that is ahead by chance is expected to fall back. With several
// curves the half-width comes from forecasts of each of them by the others, by Student's distribution, and is at least
// a part of `noise()`, the standard deviation of single validations around a fitted curve. With one curve it joins six
// tenths of the change that is forecast with this part; where this curve is of other data, it does not suit.
FromFinished from_finished(std::span<const FinishedCurve> finished, SharesOfLength shares, double now, bool keeps_best,
                           const std::function<double()>& noise);

}  // namespace trainlab

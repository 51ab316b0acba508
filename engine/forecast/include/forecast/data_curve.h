// The effect of more data: the metric of trainings on parts of the data, continued to more data than there are.
//
// Each part is about half as large as the next. Four predictors give the change with the next doublings: a power law
// without and with a limit, an exponential law with a limit, and a gain that falls to 0.7 of itself with each doubling;
// their median counts. On the learning curves of LCDB 1.1 (Yan, Mohr and Viering 2025), means over 25 seeds, the median
// had a smaller error than each of the four. The interval is to hold the value in about 80 % of such curves: its
// half-width adds the error of the median there (0.6 times the last doubling's gain for twice the data, the gain itself
// for four times) and the spread over the seeds. Pure functions; any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace trainlab {

// The results of trainings on one part of the data.
struct SizedResults {
  double samples = 0;
  std::vector<double> values;  // one for each seed, in the same order for all sizes; all finite
};

struct DataPoint {
  double samples = 0;
  double mean = 0, error = 0;  // the error is the standard error of the mean over the seeds
};

// A forecast for more data than there are.
struct DataForecast {
  double factor = 0;  // times the data
  double value = 0, low = 0, high = 0;
  // Whether the interval is narrower than what the parts have shown: its half-width is at most the change from the
  // smallest part to all data.
  bool is_known = false;
};

struct DataCurve {
  std::vector<DataPoint> points;
  std::vector<DataForecast> forecasts;  // for 2 and 4 times the data
  std::string unknown;                  // why a forecast is not known; empty where all are
};

// `sizes`: at least three, in ascending order, each with the same number of seeds, 2 to 10. A metric is never forecast
// beyond a bound that it seems to have: 0 where it is minimised and was never negative, 1 where it is maximised and was
// always between 0 and 1.
DataCurve data_curve(std::span<const SizedResults> sizes, bool minimize);

}  // namespace trainlab

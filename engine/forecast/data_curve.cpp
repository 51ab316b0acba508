#include "forecast/data_curve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>

#include "core/statistics.h"
#include "families.h"

namespace trainlab {
namespace {

constexpr double gain_ratio = 0.7;  // a doubling's gain divided by that of the doubling before, the median of LCDB

// A factor of the data, and the half-width of the interval in gains of the last doubling.
struct Reach {
  double factor;
  double gains;
};
constexpr std::array<Reach, 2> reaches = {{{2, 0.6}, {4, 1.0}}};

double student_for(std::size_t seeds) { return student_quantile(0.9, static_cast<double>(seeds) - 1); }

// The curve in the form that the fits take: smaller values are better.
struct Results {
  std::vector<double> x;                    // samples divided by the largest number
  std::vector<std::vector<double>> values;  // by size, then by seed
  std::optional<double> bound;              // least possible value

  std::size_t seeds() const { return values.front().size(); }
  // The mean of each size over all seeds but one; over all where `without` is no seed.
  std::vector<double> means(std::size_t without) const {
    std::vector<double> all;
    for (const std::vector<double>& one : values) {
      double sum = 0, count = 0;
      for (std::size_t seed = 0; seed < one.size(); ++seed) {
        if (seed == without) continue;
        sum += one[seed];
        count += 1;
      }
      all.push_back(sum / count);
    }
    return all;
  }
};

Results results_of(std::span<const SizedResults> sizes, bool minimize) {
  Results results;
  bool is_positive = true, is_share = true;
  for (const SizedResults& size : sizes) {
    results.x.push_back(size.samples / sizes.back().samples);
    results.values.push_back(size.values);
    for (double& value : results.values.back()) {
      is_positive = is_positive && value >= 0;
      is_share = is_share && value >= 0 && value <= 1;
      // A share that is maximised is turned into the share of errors.
      if (!minimize) value = -value;
    }
  }
  if (minimize && is_positive) results.bound = 0;
  if (!minimize && is_share) results.bound = -1;
  return results;
}

// The change of a power law without a limit, a straight line through the logarithms; nullopt where a value lies on or
// below the bound.
std::optional<double> power_change(const Results& results, const std::vector<double>& y, double factor) {
  if (!results.bound) return std::nullopt;
  double count = 0, sum_x = 0, sum_y = 0, both = 0, own = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double over = y[i] - *results.bound;
    if (over <= 0) return std::nullopt;
    const double log_x = std::log(results.x[i]), log_y = std::log(over);
    count += 1;
    sum_x += log_x;
    sum_y += log_y;
    both += log_x * log_y;
    own += log_x * log_x;
  }
  const double slope = std::min((both - sum_x * sum_y / count) / (own - sum_x * sum_x / count), 0.0);
  const double now = std::exp((sum_y - slope * sum_x) / count);
  return now * (std::pow(factor, slope) - 1);
}

// The value with `factor` times the data.
double value_with(const Results& results, const std::vector<double>& y, double factor) {
  std::vector<FittedPoint> points;
  for (std::size_t i = 0; i < y.size(); ++i) points.push_back({.x = results.x[i], .y = y[i], .weight = 1});
  const LimitBounds bounds = {.low = results.bound.value_or(-std::numeric_limits<double>::infinity()),
                              .high = *std::ranges::min_element(y)};
  std::vector<double> changes;
  if (const std::optional<double> change = power_change(results, y, factor)) changes.push_back(*change);
  changes.push_back(fit_power_law(points, factor, bounds).change);
  changes.push_back(fit_exponential(points, factor, bounds).change);
  double gain = y[y.size() - 2] - y.back(), change = 0;
  const int doublings = static_cast<int>(std::ceil(std::log2(factor)));
  for (int i = 0; i < doublings; ++i) {
    gain *= gain_ratio;
    change -= gain;
  }
  changes.push_back(change);
  return std::max(y.back() + median(std::move(changes)), bounds.low);
}

// The standard error of value_with(), by the jackknife over the seeds.
double error_of(const Results& results, double factor) {
  const std::size_t seeds = results.seeds();
  std::vector<double> without;
  for (std::size_t seed = 0; seed < seeds; ++seed) without.push_back(value_with(results, results.means(seed), factor));
  return static_cast<double>(seeds - 1) * mean_and_error(without).error;
}

// Whether all data are worse than half of them, by more than the spread over the seeds explains.
bool turns_worse(const Results& results) {
  const std::vector<double>&half = results.values[results.values.size() - 2], &all = results.values.back();
  std::vector<double> loss;
  for (std::size_t seed = 0; seed < all.size(); ++seed) loss.push_back(all[seed] - half[seed]);
  const MeanAndError mean = mean_and_error(loss);
  return mean.mean > student_for(all.size()) * mean.error && mean.mean > 0;
}

DataForecast forecast_for(const Results& results, const Reach& reach, bool minimize) {
  const std::size_t nobody = results.seeds();
  const std::vector<double> y = results.means(nobody);
  const double gain = std::abs(y[y.size() - 2] - y.back());
  const double value = value_with(results, y, reach.factor);
  const double half = std::hypot(reach.gains * gain, student_for(results.seeds()) * error_of(results, reach.factor));
  const double low = results.bound ? std::max(value - half, *results.bound) : value - half;
  DataForecast forecast{.factor = reach.factor,
                        .value = value,
                        .low = low,
                        .high = value + half,
                        .is_known = half < y.front() - y.back()};
  if (!minimize) {
    forecast.value = -value;
    forecast.low = -(value + half);
    forecast.high = -low;
  }
  return forecast;
}

}  // namespace

DataCurve data_curve(std::span<const SizedResults> sizes, bool minimize) {
  const Results results = results_of(sizes, minimize);
  DataCurve curve;
  for (const SizedResults& size : sizes) {
    const MeanAndError mean = mean_and_error(size.values);
    curve.points.push_back({.samples = size.samples, .mean = mean.mean, .error = mean.error});
  }
  for (const Reach& reach : reaches) curve.forecasts.push_back(forecast_for(results, reach, minimize));
  if (turns_worse(results)) {
    curve.unknown = "all data give a worse value than half of them, by more than the seeds explain";
  } else if (!curve.forecasts.front().is_known) {
    curve.unknown = "the parts differ too little, beside the spread over the seeds, to continue the curve";
  }
  if (!curve.unknown.empty()) {
    for (DataForecast& forecast : curve.forecasts) forecast.is_known = false;
  } else if (const auto far = std::ranges::find(curve.forecasts, false, &DataForecast::is_known);
             far != curve.forecasts.end()) {
    curve.unknown = "the parts differ too little, beside the spread over the seeds, to continue the curve to " +
                    std::to_string(std::lround(far->factor)) + " times the data";
  }
  return curve;
}

}  // namespace trainlab

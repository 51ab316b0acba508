#include "find/rate_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/statistics.h"

namespace trainlab {
namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

// Replaces each loss by the median of nine around it, fewer at the ends, because the loss of a single small batch says
// little. The first loss that is not finite and all points after it are left out.
std::vector<RatePoint> medians(const std::vector<RatePoint>& curve) {
  constexpr std::ptrdiff_t around = 4;
  const auto lost = std::ranges::find_if(curve, [](const RatePoint& point) { return !std::isfinite(point.loss); });
  std::vector<RatePoint> points(curve.begin(), lost);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto point = curve.begin() + static_cast<std::ptrdiff_t>(i);
    const auto begin = point - std::min(around, point - curve.begin()),
               end = point + std::min(around + 1, lost - point);
    std::vector<double> losses;
    losses.reserve(2 * around + 1);
    for (auto one = begin; one != end; ++one) losses.push_back(one->loss);
    points[i].loss = upper_median(std::move(losses));
  }
  return points;
}

// The points before the training diverges.
std::vector<RatePoint> before_divergence(const std::vector<RatePoint>& curve) {
  std::vector<RatePoint> points;
  double least = std::numeric_limits<double>::infinity();
  for (const RatePoint& point : curve) {
    if (!std::isfinite(point.loss) || (least > 0 && point.loss > 4 * least)) break;
    least = std::min(least, point.loss);
    points.push_back(point);
  }
  return points;
}

// The exponential moving average with bias correction, as fastai and Lightning use it.
std::vector<RatePoint> smoothed(std::vector<RatePoint> points) {
  constexpr double keep = 0.98;
  double mean = 0, weight = 1;
  for (RatePoint& point : points) {
    mean = keep * mean + (1 - keep) * point.loss;
    weight *= keep;
    point.loss = mean / (1 - weight);
  }
  return points;
}

double valley_of(const std::vector<RatePoint>& points) {
  // The longest falling subsequence that ends at each point: its length, and its point before.
  std::vector<std::size_t> length(points.size(), 1), before(points.size());
  std::size_t end = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    before[i] = i;
    for (std::size_t k = 0; k < i; ++k) {
      if (points[i].loss < points[k].loss && length[k] + 1 > length[i]) {
        length[i] = length[k] + 1;
        before[i] = k;
      }
    }
    if (length[i] > length[end]) end = i;
  }
  std::size_t begin = end;
  while (before[begin] != begin) begin = before[begin];
  const std::size_t third = (end - begin) / 3;
  return points[begin + third + third / 2].rate;
}

double steepest_of(const std::vector<RatePoint>& points) {
  double rate = nothing, steepest = 0;
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    const double slope = (points[i + 1].loss - points[i - 1].loss) / std::log(points[i + 1].rate / points[i - 1].rate);
    if (slope < steepest) {
      steepest = slope;
      rate = points[i].rate;
    }
  }
  return rate;
}

}  // namespace

std::vector<RatePoint>::const_iterator best_of(const std::vector<RatePoint>& curve) {
  auto best = curve.end();
  for (auto one = curve.begin(); one != curve.end(); ++one)
    if (std::isfinite(one->loss) && (best == curve.end() || one->loss < best->loss)) best = one;
  return best;
}

RateSuggestions suggestions_of(const std::vector<RatePoint>& curve) {
  const std::vector<RatePoint> points = before_divergence(medians(curve));
  if (points.size() < 10) return {};
  const auto least = std::ranges::min_element(points, {}, &RatePoint::loss);
  const std::vector<RatePoint> smooth = smoothed(points);
  return {.quarter_of_least = least->rate / 4, .valley = valley_of(smooth), .steepest = steepest_of(smooth)};
}

RateSuggestions median_of(const std::vector<RateSuggestions>& all) {
  const auto middle = [&](double RateSuggestions::*rule) {
    std::vector<double> rates;
    for (const RateSuggestions& one : all) rates.push_back(one.*rule);
    return logarithmic_median(std::move(rates));
  };
  return {middle(&RateSuggestions::quarter_of_least), middle(&RateSuggestions::valley),
          middle(&RateSuggestions::steepest)};
}

}  // namespace trainlab

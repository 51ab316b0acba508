#include "core/statistics.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/non_central_t.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace trainlab {

namespace {

// The two values in the middle, lesser first: the same value twice where the number of values is odd, NaN for no value.
std::pair<double, double> middle_two(std::vector<double> values) {
  std::erase_if(values, [](double x) { return std::isnan(x); });
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  if (values.empty()) return {none, none};
  const auto upper = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), upper, values.end());
  if (values.size() % 2 == 1) return {*upper, *upper};
  return {*std::max_element(values.begin(), upper), *upper};
}

// Near 1 the share itself has lost the digits of its distance from 1.
template <class Distribution>
double quantile_of(const Distribution& distribution, double share) {
  return share > 0.5 ? boost::math::quantile(boost::math::complement(distribution, 1 - share))
                     : boost::math::quantile(distribution, share);
}

double place_of(std::span<const double> sorted, double share) { return share * static_cast<double>(sorted.size() - 1); }

// k of median_interval for n ≥ least_for_interval values. Above 1000 values the normal approximation is used, which
// differs by at most 1.
std::size_t rank_of(std::size_t n) {
  const auto count = static_cast<double>(n);
  if (n > 1000) return static_cast<std::size_t>(std::floor(count / 2 - 0.98 * std::sqrt(count)));
  double term = std::pow(0.5, count), below = 0;  // P(X = k), P(X < k)
  std::size_t k = 0;
  while (below + term <= 0.025) {
    below += term;
    term *= (count - static_cast<double>(k)) / static_cast<double>(k + 1);
    ++k;
  }
  return k;
}

}  // namespace

double median(std::vector<double> values) {
  const auto [lower, upper] = middle_two(std::move(values));
  return lower == upper ? upper : (lower + upper) / 2;
}

double upper_median(std::vector<double> values) { return middle_two(std::move(values)).second; }

double logarithmic_median(std::vector<double> values) {
  const auto [lower, upper] = middle_two(std::move(values));
  return lower == upper ? upper : std::sqrt(lower * upper);
}

double linear_quantile(std::span<const double> sorted, double share) {
  const double place = place_of(sorted, share);
  const auto below = static_cast<std::size_t>(place);
  const double further = place - static_cast<double>(below);
  if (further == 0 || below + 1 >= sorted.size()) return sorted[below];
  const double gap = sorted[below + 1] - sorted[below];
  return std::isfinite(gap) ? sorted[below] + further * gap : sorted[below + 1];
}

double nearest_quantile(std::span<const double> sorted, double share) {
  return sorted[static_cast<std::size_t>(place_of(sorted, share) + 0.5)];
}

double lower_quantile(std::span<const double> sorted, double share) {
  return sorted[static_cast<std::size_t>(place_of(sorted, share))];
}

MeanAndError mean_and_error(std::span<const double> values) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  MeanAndError result{.mean = none, .deviation = none, .error = none};
  if (values.empty()) return result;
  const auto n = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double one : values) sum += one;
  result.mean = sum / n;
  if (values.size() < 2) return result;
  for (const double one : values) squares += (one - result.mean) * (one - result.mean);
  result.deviation = std::sqrt(squares / (n - 1));
  result.error = result.deviation / std::sqrt(n);
  return result;
}

double student_quantile(double share, double freedom) { return quantile_of(boost::math::students_t(freedom), share); }

double student_p(double t, double freedom) {
  if (std::isinf(t)) return 0;
  return 2 * boost::math::cdf(boost::math::complement(boost::math::students_t(freedom), std::abs(t)));
}

double student_power(double limit, double freedom, double centrality) {
  if (std::isinf(limit)) return 0;
  const boost::math::non_central_t distribution(freedom, centrality);
  return boost::math::cdf(boost::math::complement(distribution, limit)) + boost::math::cdf(distribution, -limit);
}

double chi_squared_quantile(double share, double freedom) {
  return quantile_of(boost::math::chi_squared(freedom), share);
}

Value MedianInterval::to_value() const { return Value::Map{{"median", median}, {"low", low}, {"high", high}}; }

MedianInterval median_interval(std::vector<double> values) {
  const std::size_t n = values.size();
  if (n == 0) return {};
  std::ranges::sort(values);
  const std::size_t k = n < least_for_interval ? 1 : rank_of(n);
  return {.median = median(values), .low = values[k - 1], .high = values[n - k]};
}

}  // namespace trainlab

#include "plan/approaches.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/statistics.h"

namespace trainlab {

namespace {

// The approach that follows from a regression log10 D = offset + slope · log10 C of a published table of tokens.
// The paper publishes an interval of the exponent and none of the factor. The spread at the pivot is that of a line
// through runs whose budgets are spread evenly, in logarithms, over the budgets of the paper: there the error of a
// line's height is the error of its slope times the standard deviation of the logarithms.
Approach from_tokens(std::string name, std::string what, double offset, double slope, double low, double high) {
  const KnownLaw& of_same_runs = known_law("besiroglu");
  const auto [least, most] = of_same_runs.flops;
  return {.name = std::move(name),
          .what = std::move(what),
          .factor = std::pow(10, -offset) / flops_per_parameter_and_token,
          .exponent = 1 - slope,
          .low = low,
          .high = high,
          .pivot = std::sqrt(least * most),
          .spread = (high - low) / 2 * std::log(most / least) / std::sqrt(12.0)};
}

// The approach of Besiroglu et al. 2024, who repeated a fit of Hoffmann et al. 2022. The exponent's standard error is
// the published one. Pivot and spread come from the bootstrap of `trainlab plan fit` on the 240 runs of that fit.
Approach repeated_fit() {
  const Law& law = known_law("besiroglu").law;
  const double exponent = law.beta / (law.alpha + law.beta);
  constexpr double standard_error = 0.020, error_at_pivot = 0.0216;
  return {.name = "3",
          .what = "L(N, D), fitted again",
          .factor = best_allocation(law, 1).parameters,
          .exponent = exponent,
          .low = exponent - normal_quantile_90 * standard_error,
          .high = exponent + normal_quantile_90 * standard_error,
          .pivot = 1.9e19,
          .spread = normal_quantile_90 * error_at_pivot};
}

}  // namespace

std::span<const Approach> approaches() {
  static const std::array<Approach, 3> all = {
      from_tokens("1", "least loss of training curves", 0.22944745, 0.50185426, 0.488, 0.502),
      from_tokens("2", "profiles of equal FLOPs", 0.06174027, 0.51002023, 0.462, 0.534), repeated_fit()};
  return all;
}

Answer answer(const Approach& approach, double flops) {
  const double parameters = approach.factor * std::pow(flops, approach.exponent);
  const double turns = std::log(flops / approach.pivot);
  const auto [below, above] =
      std::minmax({turns * (approach.low - approach.exponent), turns * (approach.high - approach.exponent)});
  return {.name = approach.name,
          .what = approach.what,
          .flops = flops,
          .best = {parameters, flops / flops_per_parameter_and_token / parameters},
          .low = parameters * std::exp(-std::hypot(below, approach.spread)),
          .high = parameters * std::exp(std::hypot(above, approach.spread))};
}

Answer answer(const KnownLaw& law, double flops) {
  Answer result{.name = law.name, .what = law.source, .flops = flops, .best = best_allocation(law.law, flops)};
  std::vector<double> parameters;
  for (const Law& sample : law.samples) parameters.push_back(best_allocation(sample, flops).parameters);
  if (parameters.empty()) parameters.push_back(result.best.parameters);
  std::ranges::sort(parameters);
  result.low = linear_quantile(parameters, 0.1);
  result.high = linear_quantile(parameters, 0.9);
  return result;
}

double flops_for(const Approach& approach, double parameters) {
  return std::pow(parameters / approach.factor, 1 / approach.exponent);
}

double flops_for(const Law& law, double parameters) {
  const double at_one = best_allocation(law, 1).parameters;
  return std::pow(parameters / at_one, (law.alpha + law.beta) / law.beta);
}

}  // namespace trainlab

#include "optim/scaled_rate.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "entries.h"

namespace trainlab {
namespace {

// For a batch that is `factor` ≥ 1 times larger.
double growth(double factor, RateGrowth rate) {
  constexpr double known_to = 4;
  if (rate == RateGrowth::slow) return std::pow(factor, 0.25);
  if (factor <= known_to) return std::sqrt(factor);
  return std::max(std::sqrt(known_to), std::pow(factor, 0.36));
}

const UsualRates& rates_of(const Options& optimizer) {
  return optimizer.registry().implementation<OptimizerKind>(unwrapped(optimizer).entry()).rates;
}

}  // namespace

bool finds_step_size(const Options& optimizer) {
  const UsualRates& rates = rates_of(optimizer);
  return rates.growth == RateGrowth::none && (!rates.search || unwrapped(optimizer).given(rates.search));
}

double scaled_rate(double rate, double from, double to, const Options& optimizer) {
  const RateGrowth rate_growth = rates_of(optimizer).growth;
  if (rate_growth == RateGrowth::none) {
    const std::string name = unwrapped(optimizer).entry().name;
    throw recipe_error("expected an optimizer whose rate depends on the size of the batch, found " + name)
        .hint(finds_step_size(optimizer) ? name + " finds the size of its steps itself: keep its rate"
                                         : "nobody knows how the rate of " + name + " does");
  }
  return to >= from ? rate * growth(to / from, rate_growth) : rate / growth(from / to, rate_growth);
}

}  // namespace trainlab

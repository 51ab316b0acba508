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

RateGrowth growth_of(const Options& optimizer) {
  return optimizer.registry().implementation<OptimizerKind>(unwrapped(optimizer).entry()).rates.growth;
}

}  // namespace

bool finds_step_size(const Options& optimizer) { return growth_of(optimizer) == RateGrowth::none; }

double scaled_rate(double rate, double from, double to, const Options& optimizer) {
  if (finds_step_size(optimizer)) {
    const std::string name = unwrapped(optimizer).entry().name;
    throw recipe_error("expected an optimizer whose rate depends on the size of the batch, found " + name)
        .hint(name + " finds the size of its steps itself: keep its rate");
  }
  const RateGrowth rate_growth = growth_of(optimizer);
  return to >= from ? rate * growth(to / from, rate_growth) : rate / growth(from / to, rate_growth);
}

}  // namespace trainlab

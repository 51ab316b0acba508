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

}  // namespace

double scaled_rate(double rate, double from, double to, const Options& optimizer) {
  const Options own = unwrapped(optimizer);
  const RateGrowth rate_growth = own.registry().implementation<OptimizerKind>(own.entry()).rates.growth;
  if (rate_growth == RateGrowth::none) {
    const std::string& name = own.entry().name;
    throw recipe_error("expected an optimizer whose rate depends on the size of the batch, found " + name)
        .hint(name + " finds the size of its steps itself: keep its rate");
  }
  return to >= from ? rate * growth(to / from, rate_growth) : rate / growth(from / to, rate_growth);
}

}  // namespace trainlab

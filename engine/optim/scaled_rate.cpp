#include "optim/scaled_rate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "entries.h"

namespace trainlab {
namespace {

constexpr std::array<std::string_view, 3> descents{"optim.SGD", "optim.ASGD", "optim.SGDScheduleFree"};
// They find the size of their steps themselves.
constexpr std::array<std::string_view, 3> without_rule{"optim.Prodigy", "optim.LBFGS", "optim.Rprop"};

// For a batch that is `factor` ≥ 1 times larger.
double growth(double factor, bool descends) {
  constexpr double known_to = 4;
  if (!descends) return std::pow(factor, 0.25);
  if (factor <= known_to) return std::sqrt(factor);
  return std::max(std::sqrt(known_to), std::pow(factor, 0.36));
}

}  // namespace

double scaled_rate(double rate, double from, double to, const Options& optimizer) {
  const std::string name = unwrapped(optimizer).entry().name;
  if (std::ranges::find(without_rule, name) != without_rule.end()) {
    throw recipe_error("expected an optimizer whose rate depends on the size of the batch, found " + name)
        .hint(name + " finds the size of its steps itself: keep its rate");
  }
  const bool descends = std::ranges::find(descents, name) != descents.end();
  return to >= from ? rate * growth(to / from, descends) : rate / growth(from / to, descends);
}

}  // namespace trainlab

#include <cmath>
#include <cstddef>

#include "find/optimizer.h"

namespace trainlab {

double GoodRates::octaves() const { return std::log2(high / low); }

GoodRates good_rates(const std::vector<RatePoint>& curve) {
  const auto least = best_of(curve);
  if (least == curve.end()) return {};
  const double most = least->loss + 0.1 * std::abs(least->loss);
  GoodRates good;
  // The end of the range on one side of the best rate. `step` is −1 towards lower rates, 1 towards higher ones.
  const auto end = [&](std::ptrdiff_t step) {
    for (std::ptrdiff_t i = least - curve.begin();; i += step) {
      const auto here = static_cast<std::size_t>(i), next = static_cast<std::size_t>(i + step);
      if (next >= curve.size()) {
        good.is_open = true;
        return curve[here].rate;
      }
      if (!std::isfinite(curve[next].loss)) return curve[here].rate;
      if (curve[next].loss <= most) continue;
      const double share = (most - curve[here].loss) / (curve[next].loss - curve[here].loss);
      return curve[here].rate * std::pow(curve[next].rate / curve[here].rate, share);
    }
  };
  good.low = end(-1);
  good.high = end(1);
  return good;
}

}  // namespace trainlab

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "find/optimizer.h"

namespace trainlab {

double GoodRates::octaves() const { return low > 0 ? std::log2(high / low) : 0; }

GoodRates good_rates(const std::vector<RatePoint>& curve) {
  const auto is_finite = [&](std::size_t i) { return std::isfinite(curve[i].loss); };
  std::size_t best = curve.size();
  for (std::size_t i = 0; i < curve.size(); ++i)
    if (is_finite(i) && (best == curve.size() || curve[i].loss < curve[best].loss)) best = i;
  if (best == curve.size()) return {};
  const double most = curve[best].loss + 0.1 * std::abs(curve[best].loss);
  GoodRates good{.low = curve[best].rate, .high = curve[best].rate};
  // From the best rate outwards; `step` is −1 or 1.
  const auto end = [&](std::ptrdiff_t step) {
    for (auto i = static_cast<std::ptrdiff_t>(best);; i += step) {
      const auto here = static_cast<std::size_t>(i), next = static_cast<std::size_t>(i + step);
      if (next >= curve.size()) {
        good.is_open = true;
        return curve[here].rate;
      }
      if (!is_finite(next)) return curve[here].rate;
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

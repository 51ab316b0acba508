#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "find/batch.h"

namespace trainlab {
namespace {

// The number of steps to a loss, up to a factor, for this knee. For an infinite one it is in proportion to 1 / batch.
double steps_to_loss(std::int64_t batch, double knee) {
  const auto size = static_cast<double>(batch);
  return std::isinf(knee) ? 1 / size : 1 + knee / size;
}

// The time to a loss, up to a factor.
double time_to_loss(const BatchPoint& point, double knee) { return point.seconds * steps_to_loss(point.batch, knee); }

constexpr double longer = 1.05;  // times in a smaller ratio count as the same

// The smallest size whose time to a loss is within 5 % of the shortest.
std::int64_t best_size(const std::vector<BatchPoint>& curve, double knee) {
  double least = std::numeric_limits<double>::infinity();
  for (const BatchPoint& point : curve) least = std::min(least, time_to_loss(point, knee));
  const auto is_best = [&](const BatchPoint& point) { return time_to_loss(point, knee) <= longer * least; };
  return std::ranges::find_if(curve, is_best)->batch;
}

}  // namespace

bool takes_longer(const std::vector<BatchPoint>& curve, double knee) {
  const std::size_t count = curve.size();
  const auto grows_at = [&](std::size_t i) {
    return time_to_loss(curve[i], knee) > longer * time_to_loss(curve[i - 1], knee);
  };
  return count >= 3 && grows_at(count - 2) && grows_at(count - 1);
}

double efficiency_of(std::int64_t batch, double knee) {
  return std::isinf(knee) ? 1 : knee / (knee + static_cast<double>(batch));
}

void judge_sizes(FoundBatch& found) {
  const std::int64_t at_low = best_size(found.curve, found.knee_low);
  const std::int64_t at_high = best_size(found.curve, found.knee_high);
  // The larger the knee, the larger the best size; a measured step that is out of order may hide this.
  found.suggestion = std::clamp(found.batch, std::min(at_low, at_high), std::max(at_low, at_high));

  // The middle on a logarithmic scale; a range that begins at 0 and is not 0 alone has none.
  const bool has_middle = found.knee_low > 0 || found.knee_high == 0;
  const double middle = has_middle ? std::sqrt(found.knee_low * found.knee_high) : std::nan("");
  const BatchPoint own = *std::ranges::find(found.curve, found.batch, &BatchPoint::batch);
  for (BatchPoint& point : found.curve) {
    const double steps =
        std::isfinite(middle) ? steps_to_loss(point.batch, middle) / steps_to_loss(own.batch, middle) : std::nan("");
    point.time = point.seconds / own.seconds * steps;
    point.samples = static_cast<double>(point.batch) / static_cast<double>(own.batch) * steps;
  }
}

}  // namespace trainlab

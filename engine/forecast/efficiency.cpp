#include "forecast/efficiency.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/number_or_nil.h"

namespace trainlab {

namespace {

constexpr std::int64_t fewest_with_best = 10, fewest_with_last = 20;

// The first step at which the mean over the last tenth of the points was as good as it is in the end, over all steps.
std::optional<double> share_of_last(const LearningCurve& curve, double steps) {
  const std::vector<CurvePoint>& points = curve.points();
  if (std::ssize(points) < fewest_with_last) return std::nullopt;
  const std::size_t width = points.size() / 10;
  const auto mean_to = [&](std::size_t end) {
    double sum = 0;
    for (std::size_t i = end - width; i < end; ++i) sum += points[i].value;
    return sum / static_cast<double>(width);
  };
  const double reached = mean_to(points.size());
  for (std::size_t end = width; end < points.size(); ++end) {
    if (curve.minimize() ? mean_to(end) <= reached : mean_to(end) >= reached) return points[end - 1].step / steps;
  }
  return 1;
}

std::optional<double> compute_share(const EndedTraining& training) {
  if (training.steps <= 0) return std::nullopt;
  if (!training.best_step) return share_of_last(training.curve, training.steps);
  if (training.curve.validations() < fewest_with_best) return std::nullopt;
  return *training.best_step / training.steps;
}

// The largest share that the kept value allows: the value may have been reached at any step before the next validation.
double most_compute_share(const EndedTraining& training, double share) {
  if (!training.best_step) return share;
  for (const CurvePoint& point : training.curve.points())
    if (point.step > *training.best_step) return point.step / training.steps;
  return 1;
}

}  // namespace

Efficiency efficiency_of(const EndedTraining& training) {
  Efficiency efficiency{
      .compute_share = compute_share(training), .passes = training.passes, .loss_ratio = std::nullopt};
  const std::optional<double>&train = training.train_loss, &val = training.val_loss;
  if (train && val && *train > 0 && *val > 0 && std::isfinite(*train) && std::isfinite(*val))
    efficiency.loss_ratio = *train / *val;
  efficiency.is_compute_inefficient =
      efficiency.compute_share && most_compute_share(training, *efficiency.compute_share) <= inefficient_share;
  efficiency.is_data_inefficient = training.repeats_data && training.passes > most_passes && efficiency.loss_ratio &&
                                   *efficiency.loss_ratio <= inefficient_share;
  return efficiency;
}

Value to_value(const Efficiency& efficiency) {
  Value::List flags;
  if (efficiency.is_compute_inefficient) flags.emplace_back("compute_inefficient");
  if (efficiency.is_data_inefficient) flags.emplace_back("data_inefficient");
  return Value::Map{{"flags", std::move(flags)},
                    {"compute_share", number_or_nil(efficiency.compute_share)},
                    {"passes", efficiency.passes},
                    {"loss_ratio", number_or_nil(efficiency.loss_ratio)}};
}

}  // namespace trainlab

#include "finished.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/statistics.h"

namespace trainlab {
namespace {

// From eight finished curves on, a regression has a slope of its own.
constexpr std::size_t fewest_for_regression = 8;
// The half-width for one finished curve, as shares of the change that is forecast and of the noise of a validation,
// which the misfit of the curves' families makes look larger than it is; docs/forecasts.md has the measurement.
constexpr double share_of_change = 0.6, noise_of_last = 0.8, noise_of_best = 0.4;
// From this share of the training on, changes are small beside the noise that a factor would multiply.
constexpr double last_quarter = 0.75;

// A finished curve at the two shares.
struct Reference {
  double then = 0, end = 0;
};

double value_of(const CurvePoint& point, bool keeps_best) { return keeps_best ? point.best : point.value; }

double value_at(const std::vector<CurvePoint>& points, double step, bool keeps_best) {
  const auto after = std::ranges::lower_bound(points, step, {}, &CurvePoint::step);
  if (after == points.begin()) return value_of(points.front(), keeps_best);
  if (after == points.end()) return value_of(points.back(), keeps_best);
  if (after->step == step) return value_of(*after, keeps_best);
  const CurvePoint& before = *std::prev(after);
  const double part = (step - before.step) / (after->step - before.step);
  return value_of(before, keeps_best) + part * (value_of(*after, keeps_best) - value_of(before, keeps_best));
}

// Each curve once: the same training twice says no more than once. A training that a rule had ended before the share
// says nothing of one that goes on.
std::vector<Reference> references(std::span<const FinishedCurve> finished, SharesOfLength shares, bool keeps_best) {
  std::vector<Reference> all;
  for (std::size_t i = 0; i < finished.size(); ++i) {
    const std::vector<CurvePoint>& points = finished[i].curve.points();
    const double length = finished[i].length, then = shares.now * length;
    if (points.empty() || points.back().step <= then) continue;
    const auto is_same = [&](const FinishedCurve& other) {
      return other.length == length && other.curve.points() == points;
    };
    if (std::ranges::any_of(finished.first(i), is_same)) continue;
    all.push_back(
        {.then = value_at(points, then, keeps_best), .end = value_at(points, shares.end * length, keeps_best)});
  }
  return all;
}

// The mean of what all references but one say; of all where `without` is none of them.
double by_changes(const std::vector<Reference>& all, double now, bool by_factor, std::size_t without) {
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i == without) continue;
    sum += by_factor ? now * all[i].end / all[i].then : now + all[i].end - all[i].then;
    count += 1;
  }
  return sum / count;
}

FromFinished by_regression(const std::vector<Reference>& all, double now) {
  const auto n = static_cast<double>(all.size());
  double then = 0, end = 0;
  for (const Reference& one : all) {
    then += one.then / n;
    end += one.end / n;
  }
  double squares = 0, products = 0;
  for (const Reference& one : all) {
    squares += (one.then - then) * (one.then - then);
    products += (one.then - then) * (one.end - end);
  }
  const double slope = squares > 0 ? products / squares : 0;
  double residuals = 0;
  for (const Reference& one : all) {
    const double residual = one.end - end - slope * (one.then - then);
    residuals += residual * residual;
  }
  const double away = squares > 0 ? (now - then) * (now - then) / squares : 0;
  return {.value = end + slope * (now - then),
          .half = student_quantile(0.9, n - 2) * std::sqrt(residuals / (n - 2) * (1 + 1 / n + away)),
          .references = std::ssize(all)};
}

}  // namespace

FromFinished from_finished(std::span<const FinishedCurve> finished, SharesOfLength shares, double now, bool keeps_best,
                           const std::function<double()>& noise) {
  const std::vector<Reference> all = references(finished, shares, keeps_best);
  if (all.empty() || (all.size() == 1 && finished.front().of_other_data)) return {};
  // No interval is narrower, though the curves should agree by chance, as shares of few samples do.
  const double of_noise = (keeps_best ? noise_of_best : noise_of_last) * noise();
  if (all.size() >= fewest_for_regression) {
    FromFinished found = by_regression(all, now);
    found.half = std::max(found.half, of_noise);
    return found;
  }
  const bool is_positive =
      now > 0 && std::ranges::all_of(all, [](const Reference& one) { return one.then > 0 && one.end > 0; });
  const bool by_factor = finished.front().curve.minimize() && is_positive && shares.now / shares.end < last_quarter;
  FromFinished found{.value = by_changes(all, now, by_factor, all.size()), .half = 0, .references = std::ssize(all)};
  if (all.size() == 1) {
    found.half = std::hypot(share_of_change * (found.value - now), of_noise);
    return found;
  }
  const auto n = static_cast<double>(all.size());
  double squares = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double error = all[i].end - by_changes(all, all[i].then, by_factor, i);
    squares += error * error;
  }
  found.half = std::max(student_quantile(0.9, n - 1) * std::sqrt(squares / n), of_noise);
  return found;
}

}  // namespace trainlab

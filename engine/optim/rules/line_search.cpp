#include "line_search.h"

#include <algorithm>
#include <cmath>

namespace trainlab {
namespace {

constexpr double decrease = 1e-4, curvature = 0.9;  // the two Wolfe conditions' constants

// Minimum within [low, high] of the cubic through two points and their slopes; the middle if the cubic has none.
double cubic_minimum(const LinePoint& a, const LinePoint& b, double low, double high) {
  const double d1 = a.slope + b.slope - 3 * (a.value - b.value) / (a.t - b.t);
  const double square = d1 * d1 - a.slope * b.slope;
  if (!(square >= 0)) return (low + high) / 2;
  const double d2 = std::sqrt(square);
  const LinePoint &left = a.t <= b.t ? a : b, &right = a.t <= b.t ? b : a;
  const double t = right.t - (right.t - left.t) * ((right.slope + d2 - d1) / (right.slope - left.slope + 2 * d2));
  return std::min(std::max(t, low), high);
}

double cubic_minimum(const LinePoint& a, const LinePoint& b) {
  return cubic_minimum(a, b, std::min(a.t, b.t), std::max(a.t, b.t));
}

}  // namespace

LinePoint strong_wolfe(const std::function<LinePoint(double)>& evaluate, const LinePoint& start, double t, double reach,
                       double tolerance, std::int64_t most, std::int64_t& evaluations) {
  const auto falls_short = [&](const LinePoint& p) { return p.value > start.value + decrease * p.t * start.slope; };
  const auto is_flat = [&](const LinePoint& p) { return std::abs(p.slope) <= -curvature * start.slope; };
  evaluations = 0;
  const auto at = [&](double length) {
    ++evaluations;
    return evaluate(length);
  };

  // Bracket an interval that holds a good length.
  LinePoint previous = start, now = at(t);
  LinePoint ends[2] = {start, now};
  std::int64_t tries = 0;
  bool bracketed = false;
  for (; tries < most; ++tries) {
    bracketed = falls_short(now) || (tries > 1 && now.value >= previous.value) || now.slope >= 0;
    if (!falls_short(now) && !(tries > 1 && now.value >= previous.value) && is_flat(now)) return now;
    if (bracketed) {
      ends[0] = previous;
      ends[1] = now;
      break;
    }
    const double next = cubic_minimum(previous, now, now.t + 0.01 * (now.t - previous.t), now.t * 10);
    previous = std::move(now);
    now = at(next);
  }
  if (!bracketed) ends[1] = now;

  // Close in on it.
  int low = ends[0].value <= ends[1].value ? 0 : 1;
  bool slow = false;  // the latest length was close to an end of the bracket
  for (; tries < most; ++tries) {
    LinePoint &best = ends[low], &other = ends[1 - low];
    if (std::abs(ends[1].t - ends[0].t) * reach < tolerance) break;
    double length = cubic_minimum(ends[0], ends[1]);
    const double left = std::min(ends[0].t, ends[1].t), right = std::max(ends[0].t, ends[1].t);
    const double margin = 0.1 * (right - left);
    if (std::min(right - length, length - left) < margin) {
      if (slow || length >= right || length <= left) {
        length = std::abs(length - right) < std::abs(length - left) ? right - margin : left + margin;
        slow = false;
      } else {
        slow = true;
      }
    } else {
      slow = false;
    }
    LinePoint found = at(length);
    if (falls_short(found) || found.value >= best.value) {
      other = std::move(found);
      low = ends[0].value <= ends[1].value ? 0 : 1;
      continue;
    }
    const bool done = is_flat(found);
    if (!done && found.slope * (other.t - best.t) >= 0) other = best;
    best = std::move(found);
    if (done) break;
  }
  return ends[low];
}

}  // namespace trainlab

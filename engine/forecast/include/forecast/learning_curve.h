// LearningCurve: the values of a metric at the validations of a training, in a bounded number of points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/value.h"

namespace trainlab {

struct CurvePoint {
  double step = 0;   // optimizer steps done, more than 0
  double value = 0;  // value of the metric, finite
  double best = 0;   // the best value up to this point
  bool operator==(const CurvePoint&) const = default;
};

// Not thread-safe.
class LearningCurve {
 public:
  explicit LearningCurve(bool minimize) : minimize_(minimize) {}

  // Adds a validation that is later than all before. A value that is not finite is left out.
  void add(double step, double value);

  bool minimize() const { return minimize_; }
  std::int64_t validations() const { return validations_; }
  // The points in the order of their steps, with equally many validations from one to the next. The last validation is
  // always among them.
  const std::vector<CurvePoint>& points() const { return points_; }

  // The curve for a checkpoint, without the direction; restore(nil) leaves the curve empty.
  Value state() const;
  void restore(const Value& state);

 private:
  static constexpr std::size_t most_points = 128;

  bool minimize_;
  std::int64_t validations_ = 0;
  std::int64_t stride_ = 1;  // validations from one point to the next
  std::vector<CurvePoint> points_;
};

}  // namespace trainlab

#include "forecast/learning_curve.h"

#include <algorithm>
#include <cmath>

namespace trainlab {

void LearningCurve::add(double step, double value) {
  if (!std::isfinite(value)) return;
  CurvePoint point{.step = step, .value = value, .best = value};
  if (!points_.empty()) {
    const double best = points_.back().best;
    point.best = minimize_ ? std::min(best, value) : std::max(best, value);
    // The last validation is removed unless its number, from 0, is a multiple of the distance between points.
    if ((validations_ - 1) % stride_ != 0) points_.pop_back();
  }
  points_.push_back(point);
  ++validations_;
  if (points_.size() <= most_points) return;
  // Keeps every second point, and the last one.
  const std::size_t count = points_.size();
  for (std::size_t i = 0; 2 * i < count; ++i) points_[i] = points_[2 * i];
  points_.resize((count + 1) / 2);
  if (count % 2 == 0) points_.push_back(point);
  stride_ *= 2;
}

Value LearningCurve::state() const {
  Value::List points;
  for (const CurvePoint& one : points_) points.push_back(Value::List{one.step, one.value, one.best});
  return Value::Map{{"validations", validations_}, {"stride", stride_}, {"points", std::move(points)}};
}

void LearningCurve::restore(const Value& state) {
  *this = LearningCurve(minimize_);
  if (state.is_nil()) return;
  validations_ = state["validations"].integer();
  stride_ = state["stride"].integer();
  for (const Value& one : state["points"].list()) {
    const Value::List& numbers = one.list();
    points_.push_back({numbers.at(0).number(), numbers.at(1).number(), numbers.at(2).number()});
  }
}

}  // namespace trainlab

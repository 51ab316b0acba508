#include "minimize.h"

#include <cmath>

namespace trainlab {

Minimum minimize(const SmoothFunction& f, Eigen::VectorXd start, const Eigen::VectorXd& low,
                 const Eigen::VectorXd& high, int most) {
  using Vector = Eigen::VectorXd;
  const Eigen::Index n = start.size();
  Vector x = start.cwiseMax(low).cwiseMin(high), gradient(n);
  double value = f(x, gradient);
  Eigen::MatrixXd inverse = Eigen::MatrixXd::Identity(n, n);
  bool is_scaled = false;
  for (int evaluations = 1; evaluations < most;) {
    Vector free = Vector::Ones(n);
    for (Eigen::Index i = 0; i < n; ++i) {
      if ((x[i] <= low[i] && gradient[i] > 0) || (x[i] >= high[i] && gradient[i] < 0)) free[i] = 0;
    }
    Vector direction = -(inverse * gradient.cwiseProduct(free)).cwiseProduct(free);
    double slope = direction.dot(gradient);
    if (!(slope < 0)) {
      inverse.setIdentity();
      is_scaled = false;
      direction = -gradient.cwiseProduct(free);
      slope = direction.dot(gradient);
      if (!(slope < -1e-18)) break;
    }
    // Without knowledge of the curvature a first step of the size of the variables.
    double length = is_scaled ? 1 : std::min(1.0, 0.5 / direction.cwiseAbs().maxCoeff());
    Vector next = x, next_gradient(n);
    double next_value = value;
    bool is_better = false;
    while (evaluations < most) {
      next = (x + length * direction).cwiseMax(low).cwiseMin(high);
      ++evaluations;
      next_value = f(next, next_gradient);
      if (std::isfinite(next_value) && next_value <= value + 1e-4 * gradient.dot(next - x)) {
        is_better = true;
        break;
      }
      length *= 0.4;
      if (length < 1e-10) break;
    }
    if (!is_better) break;
    const Vector step = next - x, change = next_gradient - gradient;
    const double gain = value - next_value, curvature = step.dot(change);
    x = next;
    gradient = next_gradient;
    value = next_value;
    if (curvature > 1e-12 * step.norm() * change.norm()) {
      if (!is_scaled) inverse = (curvature / change.squaredNorm()) * Eigen::MatrixXd::Identity(n, n);
      is_scaled = true;
      const double rho = 1 / curvature;
      const Vector shifted = inverse * change;
      inverse += (rho + rho * rho * change.dot(shifted)) * step * step.transpose() -
                 rho * (shifted * step.transpose() + step * shifted.transpose());
    }
    if (gain <= 1e-9 * std::max(1.0, std::abs(value))) break;
  }
  return {x, value};
}

}  // namespace trainlab

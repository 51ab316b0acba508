// A small minimizer for smooth functions of a few variables between bounds.
#pragma once

#include <eigen3/Eigen/Core>
#include <functional>

namespace trainlab {

// The value at x, and the gradient there.
using SmoothFunction = std::function<double(const Eigen::VectorXd& x, Eigen::VectorXd& gradient)>;

struct Minimum {
  Eigen::VectorXd x;
  double value = 0;
};

// Projected BFGS with Armijo's rule (Nocedal and Wright 2006, sections 3.1 and 6.1): variables at a bound that the
// gradient presses against stay there for a step. Ends after `most` evaluations, or when a step gains less than a
// 1e-9th. Values that are not finite count as too large.
Minimum minimize(const SmoothFunction& f, Eigen::VectorXd start, const Eigen::VectorXd& low,
                 const Eigen::VectorXd& high, int most);

}  // namespace trainlab

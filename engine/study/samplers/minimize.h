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

// Projected BFGS with Armijo's rule (Nocedal and Wright 2006, sections 3.1 and 6.1): a variable at a bound stays there
// for a step if the gradient pushes it outwards. Ends after `most` evaluations, or when a step improves the value by
// less than a factor of 1e-9. Values that are not finite count as too large.
Minimum minimize(const SmoothFunction& f, Eigen::VectorXd start, const Eigen::VectorXd& low,
                 const Eigen::VectorXd& high, int most);

}  // namespace trainlab

// The families of curves, and their fits. Private to the module.
#pragma once

#include <span>
#include <vector>

namespace trainlab {

// A point to which a family is fitted. x is the step divided by the last step. Smaller values of y are better.
struct FittedPoint {
  double x = 0, y = 0, weight = 1;
};

// The value of the limit for x → ∞ is kept within these bounds.
struct LimitBounds {
  double low = 0, high = 0;
};

// One family fitted by weighted least squares.
struct FamilyFit {
  int parameters = 0;
  double squares = 0;  // weighted sum of the squared residuals; the weights have the mean 1
  double change = 0;   // change from the last point, x = 1, to the x in question
  double level = 0;    // value at the last point, corrected by the mean residual of the last tenth
};

// The fits of pow3 a + b x^−c, exp3 a + b e^(−cx), ilog2 a + b / ln(1 + x/x₁) and mmf4 a + b / (1 + (x/h)^c), each with
// b ≥ 0. A family is left out unless there are at least 2 more points than its parameters. `points` in order of x, all
// x in (0, 1]; `at` ≥ 1.
std::vector<FamilyFit> fit_families(std::span<const FittedPoint> points, double at, const LimitBounds& bounds);

// The fit of pow3 alone, which is the usual power law, and that of exp3 alone.
FamilyFit fit_power_law(std::span<const FittedPoint> points, double at, const LimitBounds& bounds);
FamilyFit fit_exponential(std::span<const FittedPoint> points, double at, const LimitBounds& bounds);

}  // namespace trainlab

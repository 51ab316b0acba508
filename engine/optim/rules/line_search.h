// A step length that satisfies the strong Wolfe conditions, found by bracketing and cubic interpolation (Nocedal and
// Wright, Numerical Optimization, algorithms 3.5 and 3.6), with the constants of PyTorch's L-BFGS.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace trainlab {

// The objective along a direction d: its value and gradient at x + t·d, and the slope gᵀd.
struct LinePoint {
  double t = 0, value = 0;
  at::Tensor gradient;
  double slope = 0;
};

// From `start` (t = 0), beginning at the length t, with at most `most` ≥ 1 evaluations after the first. `reach` is the
// largest |d_i|: a bracket with |Δt|·reach < tolerance is not searched further. `evaluate` is called with a length;
// `evaluations` receives how often.
LinePoint strong_wolfe(const std::function<LinePoint(double)>& evaluate, const LinePoint& start, double t, double reach,
                       double tolerance, std::int64_t most, std::int64_t& evaluations);

}  // namespace trainlab

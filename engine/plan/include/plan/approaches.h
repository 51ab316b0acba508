// Three published answers to the question how many parameters and tokens are best for a number of FLOPs.
#pragma once

#include <span>
#include <string>

#include "plan/law.h"

namespace trainlab {

// The best number of parameters for C FLOPs is N = factor · C^exponent, and the tokens D follow from C = 6 N D. `low`
// and `high` bound the exponent: the 10th and 90th percentile. At `pivot` FLOPs the exponent's error has no effect, and
// the 10th and 90th percentile of the logarithm of the parameters lie `spread` below and above the best value.
struct Approach {
  std::string name, what;
  double factor = 0, exponent = 0, low = 0, high = 0;
  double pivot = 0, spread = 0;
};

// Approaches 1 (least loss of training curves) and 2 (profiles of equal FLOPs) of Hoffmann et al. 2022, by regressions
// of the tokens in their tables 3 and A3, and approach 3 as Besiroglu et al. 2024 repeated it. Any thread.
std::span<const Approach> approaches();

// An answer for a number of FLOPs. `low` and `high` are the 10th and 90th percentile of the best parameters.
struct Answer {
  std::string name, what;
  double flops = 0;
  Allocation best;
  double low = 0, high = 0;
  double loss = 0;  // loss by the law that the plan uses
};

// The answer of an approach. Its interval follows from the interval of the exponent and from the spread at the pivot,
// which are independent. For approaches 1 and 2 the spread is an estimate: the paper publishes no error of the factor.
Answer answer(const Approach& approach, double flops);
// The answer by a law that trainlab fitted. Its interval comes from the law's samples; without samples, both bounds are
// the answer itself.
Answer answer(const KnownLaw& law, double flops);

// The FLOPs for which the approach finds a model of `parameters` best.
double flops_for(const Approach& approach, double parameters);
double flops_for(const Law& law, double parameters);

}  // namespace trainlab

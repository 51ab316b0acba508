// Which parameters decide whether a trial is a good one.
//
// PED-ANOVA (Watanabe, Bansal and Hutter 2023, "PED-ANOVA: Efficiently Quantifying Hyperparameter Importance in
// Arbitrary Subspaces"): a parameter is important if its values among the best tenth of the trials are distributed
// differently from its values among all trials. PED-ANOVA was preferred to fANOVA because it costs O(n) instead of a
// forest, draws nothing at random, and judges the good region, where samplers have looked.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "study/space.h"

namespace trainlab {

struct Importance {
  std::vector<double> shares;         // by parameter, their sum 1; all 0 where no parameter makes a difference
  std::int64_t trials = 0, best = 0;  // trials with a finite loss, and how many of them count as the best
};

// `points` [n, parameters] of trials, NaN where inactive; `losses` [n], smaller is better. Trials whose loss is
// not finite are left out. A parameter that is not always active is judged by the trials in which it is active,
// weighted by the share of such trials among the best (squared) and among all ("Conditional PED-ANOVA", arXiv
// 2601.20800, theorem 4.2).
Importance importance(const Space& space, std::span<const double> points, std::span<const double> losses);

}  // namespace trainlab

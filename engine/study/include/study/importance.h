// Which parameters decide whether a trial is a good one.
//
// PED-ANOVA (Watanabe, Bansal and Hutter 2023, "PED-ANOVA: Efficiently Quantifying Hyperparameter Importance in
// Arbitrary Subspaces"): a parameter is important if its values among the best tenth of the trials are distributed
// differently from its values among all trials. PED-ANOVA comes first because it costs O(n) instead of a forest, draws
// nothing at random, and judges the good region, where samplers have looked.
//
// fANOVA (Hutter, Hoos and Leyton-Brown 2014, "An Efficient Approach for Assessing Hyperparameter Importance"): a
// parameter is important if the loss, averaged over all other parameters, varies with it over the whole space.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "study/space.h"

namespace trainlab {

struct Importance {
  // By parameter; all 0 where no parameter makes a difference. Of PED-ANOVA their sum is 1; of fANOVA it is less, where
  // parameters matter together only.
  std::vector<double> shares;
  std::int64_t trials = 0;  // with a finite loss
  std::int64_t best = 0;    // of these trials, how many count as the best; fANOVA knows no best
};

// `points` [n, parameters] of trials, NaN where inactive; `losses` [n], smaller is better. Trials whose loss is
// not finite are left out. A parameter that is not always active is judged by the trials in which it is active,
// weighted by the share of such trials among the best (squared) and among all ("Conditional PED-ANOVA", arXiv
// 2601.20800, theorem 4.2).
Importance importance(const Space& space, std::span<const double> points, std::span<const double> losses);

// The same by fANOVA: shares of the loss's variance over the whole space, as means over the trees of a random forest
// that is drawn by the seed. A parameter's values are weighted by its own distribution. Where a parameter is inactive
// the loss does not depend on it. O(parameters · n log² n).
Importance fanova(const Space& space, std::span<const double> points, std::span<const double> losses,
                  std::int64_t seed);

}  // namespace trainlab

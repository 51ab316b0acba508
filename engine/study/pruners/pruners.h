// Helpers that the pruners of this module share. Each pruner stands with its entry in a file of its own.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "study/pruner.h"

namespace trainlab {

inline double worst_if_nan(double x) { return std::isnan(x) ? std::numeric_limits<double>::infinity() : x; }

// The badness of each of these points [n, objectives] as one number; NaN is the worst. With one objective it is the
// value. With several objectives it is the number of better points, which stand in an earlier Pareto front, or in a
// less crowded place of the same front, as NSGA-II selects (Deb et al. 2002, section III). Successive halving with such
// ranks: Schmucker et al. 2021, Multi-objective Asynchronous Successive Halving.
std::vector<double> losses(std::vector<double> points, std::size_t objectives);

// The option `warmup` of an entry.
Option pruner_warmup_option();

}  // namespace trainlab

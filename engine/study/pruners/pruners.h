// The pruners of this module, made directly (entries make them from options), and how they compare trials.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "study/pruner.h"

namespace trainlab {

inline double worst_if_nan(double x) { return std::isnan(x) ? std::numeric_limits<double>::infinity() : x; }

// How bad each of these points [n, objectives] is, in one number; NaN is the worst of all. With one objective it is the
// value. With several it is the number of points that are better: they stand in an earlier Pareto front, or in the same
// where it is less crowded, as NSGA-II selects (Deb et al. 2002, section III). Successive halving with such ranks:
// Schmucker et al. 2021, Multi-objective Asynchronous Successive Halving.
std::vector<double> losses(std::vector<double> points, std::size_t objectives);

struct PercentileSettings {
  std::int64_t startup, warmup, interval;
};
// `share`: of trials that go on, 0 … 1.
std::unique_ptr<Pruner> percentile_pruner(double share, const PercentileSettings& settings);
std::unique_ptr<Pruner> threshold_pruner(double lower, double upper, std::int64_t warmup);
// `base` may be null.
std::unique_ptr<Pruner> patience_pruner(std::int64_t patience, double min_delta, std::unique_ptr<Pruner> base);
std::unique_ptr<Pruner> asha_pruner(std::int64_t min, std::int64_t reduction);
std::unique_ptr<Pruner> hyperband_pruner(std::int64_t min, std::int64_t max, std::int64_t reduction);
// Of one objective.
std::unique_ptr<Pruner> wilcoxon_pruner(double p, std::int64_t startup);

}  // namespace trainlab

// Pruners that compare a trial with the median of others, with a range, and with itself.
#include <algorithm>

#include "pruners.h"

namespace trainlab {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The q-quantile (0 … 1) of values, linear between neighbours.
double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  if (below + 1 >= values.size()) return values.back();
  const double share = place - static_cast<double>(below);
  return share == 0 ? values[below] : values[below] + share * (values[below + 1] - values[below]);
}

// Golovin et al. 2017 (Vizier), section 3.2.1: the best value so far against that of others at the same place. With
// several objectives the best so far of each: that point's rank among the others.
class Percentile final : public Pruner {
 public:
  Percentile(double share, const PercentileSettings& settings) : share_(share), settings_(settings) {}

  bool prunes(const Curves& curves, std::int64_t trial) const override {
    const std::int64_t resource = curves.trials().last_resource(trial);
    if (!is_due(resource, curves.trials().previous_resource(trial))) return false;
    std::vector<double> points;
    for (std::int64_t other = 0; other < curves.visible(); ++other) {
      if (other == trial || curves.trials().state(other) != TrialState::complete) continue;
      const std::vector<double> values = curves.at(other, resource);
      points.insert(points.end(), values.begin(), values.end());
    }
    const std::size_t objectives = curves.objectives();
    if (static_cast<std::int64_t>(points.size() / objectives) < settings_.startup) return false;
    std::vector<double> best(objectives, infinity);
    curves.walk(trial, [&](std::int64_t at, std::span<const double> values) {
      if (at > resource) return;
      for (std::size_t k = 0; k < objectives; ++k) best[k] = std::min(best[k], worst_if_nan(values[k]));
    });
    points.insert(points.end(), best.begin(), best.end());
    std::vector<double> others = losses(std::move(points), objectives);
    const double own = others.back();
    others.pop_back();
    return own > quantile(std::move(others), share_);
  }

 private:
  // With the first report in each interval after the warm-up.
  bool is_due(std::int64_t resource, std::int64_t previous) const {
    if (resource <= settings_.warmup) return false;
    const auto interval = [&](std::int64_t at) { return (at - settings_.warmup - 1) / settings_.interval; };
    return previous <= settings_.warmup || interval(resource) > interval(previous);
  }

  double share_;
  PercentileSettings settings_;
};

// Of the first objective.
class Threshold final : public Pruner {
 public:
  Threshold(double lower, double upper, std::int64_t warmup) : lower_(lower), upper_(upper), warmup_(warmup) {}

  bool compares() const override { return false; }
  bool prunes(const Curves& curves, std::int64_t trial) const override {
    if (curves.trials().last_resource(trial) <= warmup_) return false;
    const double value = curves.trials().last_mean(trial).front();
    return !(value >= lower_ && value <= upper_);
  }

 private:
  double lower_, upper_;
  std::int64_t warmup_;
};

class Patience final : public Pruner {
 public:
  Patience(std::int64_t patience, double min_delta, std::unique_ptr<Pruner> base)
      : patience_(patience), min_delta_(min_delta), base_(std::move(base)) {}

  bool compares() const override { return base_ && base_->compares(); }
  bool prunes(const Curves& curves, std::int64_t trial) const override {
    const std::int64_t resource = curves.trials().last_resource(trial);
    if (resource <= patience_) return false;
    std::vector<double> before;  // [validation, objective]
    bool improved = false;
    curves.walk(trial, [&](std::int64_t at, std::span<const double> values) {
      if (at > resource || improved) return;
      if (at > resource - patience_) {
        improved = improves(values, before);
      } else {
        for (const double x : values) before.push_back(worst_if_nan(x));
      }
    });
    if (improved) return false;
    return !base_ || base_->prunes(curves, trial);
  }

 private:
  // None before is as good in all objectives, but for min_delta.
  bool improves(std::span<const double> values, std::span<const double> before) const {
    for (; !before.empty(); before = before.subspan(values.size())) {
      const bool is_as_good = std::ranges::equal(before.first(values.size()), values, [&](double old, double now) {
        return old - min_delta_ <= worst_if_nan(now);
      });
      if (is_as_good) return false;
    }
    return true;
  }

  std::int64_t patience_;
  double min_delta_;
  std::unique_ptr<Pruner> base_;
};

}  // namespace

std::unique_ptr<Pruner> percentile_pruner(double share, const PercentileSettings& settings) {
  return std::make_unique<Percentile>(share, settings);
}

std::unique_ptr<Pruner> threshold_pruner(double lower, double upper, std::int64_t warmup) {
  return std::make_unique<Threshold>(lower, upper, warmup);
}

std::unique_ptr<Pruner> patience_pruner(std::int64_t patience, double min_delta, std::unique_ptr<Pruner> base) {
  return std::make_unique<Patience>(patience, min_delta, std::move(base));
}

}  // namespace trainlab

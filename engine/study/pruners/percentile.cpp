// Pruners that compare a trial with a percentile of the complete trials: the median and any other.
#include <algorithm>

#include "core/statistics.h"
#include "pruners.h"

namespace trainlab {

namespace {

struct PercentileSettings {
  std::int64_t startup, warmup, interval;
};

// Golovin et al. 2017 (Vizier), section 3.2.1: the best value so far against that of others at the same place. With
// several objectives the best so far of each: that point's rank among the others.
class Percentile final : public Pruner {
 public:
  Percentile(double share, const PercentileSettings& settings) : share_(share), settings_(settings) {}

  bool prunes(const Curves& curves, std::int64_t trial) const override {
    const std::int64_t resource = curves.trials().last_resource(trial);
    if (!is_due(resource, curves.judged(trial))) return false;
    std::vector<double> points;
    for (std::int64_t other = 0; other < curves.visible(); ++other) {
      if (other == trial || curves.trials().state(other) != TrialState::complete) continue;
      const std::vector<double> values = curves.at(other, resource);
      points.insert(points.end(), values.begin(), values.end());
    }
    const std::size_t objectives = curves.objectives();
    if (static_cast<std::int64_t>(points.size() / objectives) < settings_.startup) return false;
    std::vector<double> best(objectives, std::numeric_limits<double>::quiet_NaN());
    curves.walk(trial, [&](std::int64_t at, std::span<const double> values) {
      if (at > resource) return;
      for (std::size_t k = 0; k < objectives; ++k) best[k] = std::fmin(best[k], values[k]);
    });
    if (std::ranges::all_of(best, [](double x) { return std::isnan(x); })) return true;
    points.insert(points.end(), best.begin(), best.end());
    std::vector<double> others = losses(std::move(points), objectives);
    const double own = others.back();
    others.pop_back();
    std::ranges::sort(others);
    return own > linear_quantile(others, share_);
  }

 private:
  // With the first report in each interval after the warm-up.
  bool is_due(std::int64_t resource, std::int64_t judged) const {
    if (resource <= settings_.warmup) return false;
    const auto interval = [&](std::int64_t at) { return (at - settings_.warmup - 1) / settings_.interval; };
    return judged <= settings_.warmup || interval(resource) > interval(judged);
  }

  double share_;
  PercentileSettings settings_;
};

Option interval_option() {
  return Option("interval", "number of validations between two comparisons").integer().at_least(1).or_default(1);
}
Option startup_option() {
  return Option("startup", "complete trials that are needed before any trial is pruned")
      .integer()
      .at_least(1)
      .or_default(5);
}

std::unique_ptr<Pruner> make_percentile(const Options& spec, double share) {
  return std::make_unique<Percentile>(share, PercentileSettings{.startup = spec.integer("startup"),
                                                                .warmup = spec.integer("warmup"),
                                                                .interval = spec.integer("interval")});
}

}  // namespace

void register_percentile(Registry& registry) {
  registry.add(
      Entry("pruner.median", "pruner",
            "Prunes a trial that is worse than the median of the complete trials at the same validation.")
          .with(startup_option())
          .with(pruner_warmup_option())
          .with(interval_option())
          .example("pruner.median { warmup = 3 }")
          .note("A trial is judged by its best value so far (Golovin et al. 2017). NaN counts as the worst value, "
                "and a trial that has reported nothing but NaN does not continue. With several objectives a "
                "trial is judged by its best value of each; trials are ranked by Pareto fronts, and within a "
                "front by crowding."),
      PrunerFactory{[](const Options& spec, std::size_t, const Delivery&) { return make_percentile(spec, 0.5); }});
  registry.add(
      Entry("pruner.percentile", "pruner", "Prunes as pruner.median does, with another share of trials that continue.")
          .with(Option("percentile", "share of trials that continue, best first")
                    .number()
                    .more_than(0)
                    .less_than(100)
                    .in("%")
                    .positional()
                    .required())
          .with(startup_option())
          .with(pruner_warmup_option())
          .with(interval_option())
          .example("pruner.percentile(25)"),
      PrunerFactory{[](const Options& spec, std::size_t, const Delivery&) {
        return make_percentile(spec, spec.number("percentile") / 100);
      }});
}

}  // namespace trainlab

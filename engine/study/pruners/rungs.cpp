// Pruners in which trials meet at rungs: asynchronous successive halving and Hyperband, in the variant that stops: a
// trial that may not continue when it reaches a rung is stopped, so that no trial waits.
#include <algorithm>
#include <numeric>

#include "pruners.h"
#include "shared_entries.h"

namespace trainlab {

namespace {

// Resources at which trials meet: the first `count` of min · reduction^k. A trial meets a rung with the first report of
// a repeat there or beyond, and is judged as soon as the pruner is asked: by that report, or by the best so far where
// trainings deliver their best weights.
class Rungs {
 public:
  Rungs(std::int64_t min, std::int64_t reduction, std::int64_t count, Delivery::Weights weights)
      : min_(min), reduction_(reduction), count_(count), is_best_(weights == Delivery::Weights::best) {}

  // Whether the trial is dropped at a rung that it has met since it was judged, among those that compete with it.
  template <class Competes>
  bool prune(const Curves& curves, std::int64_t trial, Competes&& competes) const {
    const std::int64_t resource = curves.trials().last_resource(trial);
    const std::int64_t judged = curves.judged(trial);
    std::int64_t rung = min_;
    for (std::int64_t k = 0; k < count_ && rung <= resource; ++k) {
      if (rung > judged && drops(curves, trial, rung, competes)) return true;
      if (rung > resource / reduction_) break;  // the next one lies beyond, and might be no 64-bit number
      rung *= reduction_;
    }
    return false;
  }

 private:
  // Whether the trial is not among the best 1 / reduction of the trials that have met the rung, itself included; at
  // least one trial continues.
  template <class Competes>
  bool drops(const Curves& curves, std::int64_t trial, std::int64_t rung, Competes&& competes) const {
    std::vector<double> points;
    std::int64_t reached = 0, own = 0;
    for (std::int64_t other = 0; other < std::max(curves.visible(), trial + 1); ++other) {
      if (other != trial && (other >= curves.visible() || !competes(other))) continue;
      std::vector<double> values = curves.first_from(other, rung);
      if (values.empty()) continue;
      if (other == trial) {
        own = reached;
        if (std::ranges::any_of(values, [](double x) { return std::isnan(x); })) return true;
      }
      if (is_best_) values = curves.best_until(other, rung);
      points.insert(points.end(), values.begin(), values.end());
      ++reached;
    }
    const std::size_t width = curves.objectives();
    const auto point = [&](std::int64_t i) {
      return std::span(points).subspan(static_cast<std::size_t>(i) * width, width);
    };
    const std::vector<double> all = losses(points, width);
    std::int64_t better = 0;
    for (std::int64_t i = 0; i < reached; ++i) {
      // Among equal trials the earlier is better. Trials of equal rank at the ends of a front all continue.
      if (all[static_cast<std::size_t>(i)] < all[static_cast<std::size_t>(own)] ||
          (i < own && std::ranges::equal(point(i), point(own)))) {
        ++better;
      }
    }
    return better >= std::max<std::int64_t>(reached / reduction_, 1);
  }

  std::int64_t min_, reduction_, count_;
  bool is_best_;
};

// Li et al. 2020 (A System for Massively Parallel Hyperparameter Tuning).
class AshaPruner final : public Pruner {
 public:
  AshaPruner(std::int64_t min, std::int64_t reduction, Delivery::Weights weights)
      : rungs_(min, reduction, std::numeric_limits<std::int64_t>::max(), weights) {}

  bool prunes(const Curves& curves, std::int64_t trial) const override {
    return rungs_.prune(curves, trial, [](std::int64_t) { return true; });
  }

 private:
  Rungs rungs_;
};

// Li et al. 2018 (Hyperband): trials are dealt to brackets s = 0 … s_max with s_max = ⌊log_η(max / min)⌋. Bracket s has
// s rungs from min · η^(s_max − s) on: no trial is stopped at its end, and none at all in bracket 0. A bracket gets a
// share of the trials in proportion to the number with which it starts there.
class Hyperband final : public Pruner {
 public:
  // `lengths`: validations at the ends of the rungs.
  Hyperband(const std::vector<std::int64_t>& lengths, std::int64_t reduction, Delivery::Weights weights)
      : shares_(bracket_sizes(lengths)) {
    for (std::size_t s = 0; s < lengths.size(); ++s)
      rungs_.emplace_back(lengths[lengths.size() - 1 - s], reduction, static_cast<std::int64_t>(s), weights);
    for (const std::int64_t share : shares_) cycle_ += share;
  }

  bool prunes(const Curves& curves, std::int64_t trial) const override {
    const std::size_t own = bracket(trial);
    return rungs_[own].prune(curves, trial, [&](std::int64_t other) { return bracket(other) == own; });
  }

 private:
  // Dealt in turn, so that every stretch of trials has all brackets in their shares.
  std::size_t bracket(std::int64_t trial) const {
    // A step through the cycle that meets every place once spreads the brackets over it.
    std::int64_t stride =
        std::max<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(cycle_) * 0.6180339887), 1);
    while (std::gcd(stride, cycle_) != 1) ++stride;
    std::int64_t place = trial % cycle_ * stride % cycle_;
    std::size_t s = 0;
    while (place >= shares_[s]) place -= shares_[s++];
    return s;
  }

  std::vector<std::int64_t> shares_;  // by bracket
  std::vector<Rungs> rungs_;
  std::int64_t cycle_ = 0;
};

Option min_option() { return rung_min_option("number of validations before the first rung"); }
Option reduction_option() { return rung_reduction_option("at each rung the best 1 in N continues"); }

std::unique_ptr<Pruner> make_asha(const Options& spec, std::size_t, const Delivery& delivery) {
  const std::int64_t min = first_rung(spec, delivery.validations, delivery.weights);
  return std::make_unique<AshaPruner>(min, spec.integer("reduction"), delivery.weights);
}

std::unique_ptr<Pruner> make_hyperband(const Options& spec, std::size_t, const Delivery& delivery) {
  return std::make_unique<Hyperband>(rung_lengths(spec, delivery.weights), spec.integer("reduction"), delivery.weights);
}

}  // namespace

void register_rungs(Registry& registry) {
  registry.add(
      Entry("pruner.asha", "pruner",
            "Asynchronous successive halving: at rungs of growing length only the best trials continue.")
          .with(min_option())
          .with(reduction_option())
          .example("pruner.asha { min = 2, reduction = 3 }")
          .note("Li et al. 2020, in the variant that stops trials and never waits: rungs lie at min, "
                "min · reduction, min · reduction² … validations. A trial meets a rung with its first report "
                "there or beyond, and is judged by it; where the fit keeps its best weights by the metric, "
                "by its best report so far. Several objectives are ranked by Pareto fronts, and within a front by "
                "crowding (as in Schmucker et al. 2021)."),
      PrunerFactory{make_asha});
  registry.add(
      Entry("pruner.hyperband", "pruner",
            "Successive halving in several brackets, from many short trials to few long ones.")
          .with(min_option())
          .with(rung_max_option("number of validations of a whole trial"))
          .with(reduction_option())
          .example("pruner.hyperband { max = 27 }")
          .note(
              "Li et al. 2018, in the variant that stops trials and never waits: each bracket halves its own trials as "
              "pruner.asha does. With η = reduction and s_max = ⌊log_η(max / min)⌋ there are brackets s = 0 … s_max; "
              "bracket s has s rungs, the first after min · η^(s_max − s) validations, and gets "
              "⌈(s_max + 1) · η^s / (s + 1)⌉ of each round of trials. In bracket 0 all trials run to their end."),
      PrunerFactory{make_hyperband});
}

}  // namespace trainlab

// The pruners, and lab.pruner.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "study/pruner.h"

namespace trainlab {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double worst_if_nan(double x) { return std::isnan(x) ? infinity : x; }

// The q-quantile (0 … 1) of values, linear between neighbours.
double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  if (below + 1 >= values.size()) return values.back();
  const double share = place - static_cast<double>(below);
  return share == 0 ? values[below] : values[below] + share * (values[below + 1] - values[below]);
}

// Golovin et al. 2017 (Vizier), section 3.2.1: the best value so far against that of others at the same place.
class Percentile final : public Pruner {
 public:
  Percentile(double share, std::int64_t startup, std::int64_t warmup, std::int64_t interval)
      : share_(share), startup_(startup), warmup_(warmup), interval_(interval) {}

  bool prunes(const Curves& curves, std::int64_t trial) const override {
    const std::int64_t resource = curves.last_resource(trial);
    if (resource <= warmup_ || (resource - warmup_ - 1) % interval_ != 0) return false;
    std::vector<double> others;
    for (std::int64_t other = 0; other < curves.visible(); ++other) {
      if (other == trial || curves.trials().state(other) != TrialState::complete) continue;
      if (const auto value = curves.at(other, resource)) others.push_back(worst_if_nan(*value));
    }
    if (static_cast<std::int64_t>(others.size()) < startup_) return false;
    double best = infinity;
    for (std::int64_t at = 1; at <= resource; ++at) {
      if (const auto value = curves.at(trial, at); value && !std::isnan(*value)) best = std::min(best, *value);
    }
    return best > quantile(std::move(others), share_);
  }

 private:
  double share_;
  std::int64_t startup_, warmup_, interval_;
};

class Threshold final : public Pruner {
 public:
  Threshold(double lower, double upper, std::int64_t warmup) : lower_(lower), upper_(upper), warmup_(warmup) {}

  bool compares() const override { return false; }
  bool prunes(const Curves& curves, std::int64_t trial) const override {
    const std::int64_t resource = curves.last_resource(trial);
    if (resource <= warmup_) return false;
    const double value = curves.oriented(*curves.at(trial, resource));
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
    const std::int64_t resource = curves.last_resource(trial);
    double before = infinity, since = infinity;
    for (std::int64_t at = 1; at <= resource; ++at) {
      const auto value = curves.at(trial, at);
      if (!value) continue;
      double& best = at <= resource - patience_ ? before : since;
      best = std::min(best, worst_if_nan(*value));
    }
    if (resource <= patience_ || since < before - min_delta_) return false;
    return !base_ || base_->prunes(curves, trial);
  }

 private:
  std::int64_t patience_;
  double min_delta_;
  std::unique_ptr<Pruner> base_;
};

// Resources at which trials meet: min · reduction^k.
class Rungs {
 public:
  Rungs(std::int64_t min, std::int64_t reduction) : min_(min), reduction_(reduction) {}
  bool is_rung(std::int64_t resource) const {
    std::int64_t rung = min_;
    while (rung < resource) rung *= reduction_;
    return rung == resource;
  }
  // Whether the trial is not among the best 1 / reduction of those that have reached the rung, itself included; one
  // always goes on.
  template <class Competes>
  bool drops(const Curves& curves, std::int64_t trial, std::int64_t rung, Competes&& competes) const {
    const double own = *curves.at(trial, rung);
    if (std::isnan(own)) return true;
    std::int64_t reached = 1, better = 0;
    for (std::int64_t other = 0; other < curves.visible(); ++other) {
      if (other == trial || !competes(other)) continue;
      const auto value = curves.at(other, rung);
      if (!value) continue;
      ++reached;
      // Of equal ones the earlier is better.
      if (worst_if_nan(*value) < own || (*value == own && other < trial)) ++better;
    }
    return better >= std::max<std::int64_t>(reached / reduction_, 1);
  }

 private:
  std::int64_t min_, reduction_;
};

// Li et al. 2020 (A System for Massively Parallel Hyperparameter Tuning), in the variant that stops: a trial that may
// not go on when it reaches a rung is given up, so that nobody waits.
class Asha final : public Pruner {
 public:
  Asha(std::int64_t min, std::int64_t reduction) : rungs_(min, reduction) {}

  bool prunes(const Curves& curves, std::int64_t trial) const override {
    const std::int64_t resource = curves.last_resource(trial);
    return rungs_.is_rung(resource) && rungs_.drops(curves, trial, resource, [](std::int64_t) { return true; });
  }

 private:
  Rungs rungs_;
};

// Li et al. 2018 (Hyperband): trials are dealt to brackets s = 0 … s_max with s_max = ⌊log_η(max / min)⌋, in each of
// which the first rung is min · η^(s_max − s). Bracket s gets a share of the trials in proportion to the number with
// which it starts there: ⌈(s_max + 1) η^s / (s + 1)⌉.
class Hyperband final : public Pruner {
 public:
  Hyperband(std::int64_t min, std::int64_t max, std::int64_t reduction) {
    std::int64_t brackets = 1;
    for (std::int64_t rung = min * reduction; rung <= max; rung *= reduction) ++brackets;
    std::int64_t power = 1, first = min;
    for (std::int64_t s = 0; s < brackets; ++s) {
      shares_.push_back((brackets * power + s) / (s + 1));
      power *= reduction;
    }
    for (std::int64_t s = brackets - 1; s >= 0; --s) {
      rungs_.insert(rungs_.begin(), Rungs(first, reduction));
      first *= reduction;
    }
    for (const std::int64_t share : shares_) cycle_ += share;
  }

  bool prunes(const Curves& curves, std::int64_t trial) const override {
    const std::size_t own = bracket(trial);
    const std::int64_t resource = curves.last_resource(trial);
    return rungs_[own].is_rung(resource) &&
           rungs_[own].drops(curves, trial, resource, [&](std::int64_t other) { return bracket(other) == own; });
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

// The chance that n differences of random sign have a rank sum of positive ones of at least w: exact up to 40, then
// normal. Ties share their ranks, so sums count in halves.
double rank_sum_tail(const std::vector<double>& ranks, double w) {
  const std::size_t n = ranks.size();
  if (n > 40) {
    double mean = 0, variance = 0;
    for (const double rank : ranks) {
      mean += rank / 2;
      variance += rank * rank / 4;
    }
    return 0.5 * std::erfc((w - 0.5 - mean) / std::sqrt(2 * variance));
  }
  std::vector<double> ways{1};
  for (const double rank : ranks) {
    const auto by = static_cast<std::size_t>(std::lround(2 * rank));
    std::vector<double> next(ways.size() + by);
    for (std::size_t i = 0; i < ways.size(); ++i) {
      next[i] += ways[i] / 2;
      next[i + by] += ways[i] / 2;
    }
    ways = std::move(next);
  }
  double tail = 0;
  for (auto i = static_cast<std::size_t>(std::lround(2 * w)); i < ways.size(); ++i) tail += ways[i];
  return tail;
}

// Wilcoxon's signed-rank test over the repeats: their last values against those of the best trial's same repeats.
class Wilcoxon final : public Pruner {
 public:
  Wilcoxon(double p, std::int64_t startup) : p_(p), startup_(startup) {}

  bool prunes(const Curves& curves, std::int64_t trial) const override {
    std::optional<std::int64_t> best;
    for (std::int64_t other = 0; other < curves.visible(); ++other) {
      if (other == trial || curves.trials().state(other) != TrialState::complete) continue;
      if (!best || curves.value(other) < curves.value(*best)) best = other;
    }
    if (!best) return false;
    const std::vector<double> own = last_values(curves, trial), theirs = last_values(curves, *best);
    std::vector<double> differences;
    for (std::size_t i = 0; i < std::min(own.size(), theirs.size()); ++i) {
      if (own[i] != theirs[i]) differences.push_back(own[i] - theirs[i]);
    }
    if (static_cast<std::int64_t>(differences.size()) < startup_) return false;
    std::sort(differences.begin(), differences.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
    std::vector<double> ranks(differences.size());
    double worse = 0, balance = 0;
    for (std::size_t i = 0; i < ranks.size();) {
      std::size_t end = i + 1;
      while (end < ranks.size() && std::abs(differences[end]) == std::abs(differences[i])) ++end;
      for (std::size_t k = i; k < end; ++k) {
        ranks[k] = static_cast<double>(i + 1 + end) / 2;
        if (differences[k] > 0) worse += ranks[k];
        balance += differences[k];
      }
      i = end;
    }
    // Not one whose mean is better, whatever the ranks say.
    return balance > 0 && rank_sum_tail(ranks, worse) < p_;
  }

 private:
  // Of each repeat, in order; the one under way with what it has.
  static std::vector<double> last_values(const Curves& curves, std::int64_t trial) {
    std::vector<double> values;
    for (const TrialReport& report : curves.trials().reports(trial)) {
      const auto place = static_cast<std::size_t>(report.repeat);
      if (values.size() < place) values.resize(place);
      values[place - 1] = worst_if_nan(curves.oriented(report.value));
    }
    return values;
  }

  double p_;
  std::int64_t startup_;
};

Option warmup_option() {
  return Option("warmup", "validations of a trial before it may be pruned").integer().at_least(0).or_default(0);
}
Option startup_option() {
  return Option("startup", "complete trials before the first is pruned").integer().at_least(1).or_default(5);
}
Option interval_option() {
  return Option("interval", "validations between two looks").integer().at_least(1).or_default(1);
}
Option reduction_option() {
  return Option("reduction", "of so many trials at a rung one goes on").integer().at_least(2).or_default(3);
}

std::unique_ptr<Pruner> make_percentile(const Options& spec, double share) {
  return std::make_unique<Percentile>(share, spec.integer("startup"), spec.integer("warmup"), spec.integer("interval"));
}

std::unique_ptr<Pruner> make_threshold(const Options& spec) {
  if (!spec.given("lower") && !spec.given("upper"))
    throw spec.error("", "expected lower, upper, or both, found neither");
  return std::make_unique<Threshold>(spec.given("lower") ? spec.number("lower") : -infinity,
                                     spec.given("upper") ? spec.number("upper") : infinity, spec.integer("warmup"));
}

std::unique_ptr<Pruner> make_hyperband(const Options& spec) {
  if (spec.integer("max") < spec.integer("min")) {
    throw spec.error("max", "expected at least min = " + std::to_string(spec.integer("min")) + ", found " +
                                std::to_string(spec.integer("max")));
  }
  return std::make_unique<Hyperband>(spec.integer("min"), spec.integer("max"), spec.integer("reduction"));
}

}  // namespace

std::unique_ptr<Pruner> make_pruner(const Options& spec) {
  return spec.registry().implementation<PrunerFactory>(spec.entry())(spec);
}

void register_pruners(Registry& registry) {
  registry.add(Entry("pruner.median", "pruner",
                     "Gives up what is worse than the median of complete trials at the same validation.")
                   .with(startup_option())
                   .with(warmup_option())
                   .with(interval_option())
                   .example("pruner.median { warmup = 3 }")
                   .note("A trial is judged by its best value so far (Golovin et al. 2017)."),
               PrunerFactory{[](const Options& spec) { return make_percentile(spec, 0.5); }});
  registry.add(
      Entry("pruner.percentile", "pruner", "As the median, with another share of trials that may go on.")
          .with(Option("percentile", "the best so many go on")
                    .number()
                    .more_than(0)
                    .less_than(100)
                    .in("%")
                    .positional()
                    .required())
          .with(startup_option())
          .with(warmup_option())
          .with(interval_option())
          .example("pruner.percentile(25)"),
      PrunerFactory{[](const Options& spec) { return make_percentile(spec, spec.number("percentile") / 100); }});
  registry.add(Entry("pruner.threshold", "pruner", "Gives up what leaves a range, and what is no number.")
                   .with(Option("lower", "smallest value that goes on").number())
                   .with(Option("upper", "largest value that goes on").number())
                   .with(warmup_option())
                   .example("pruner.threshold { upper = 10 }"),
               PrunerFactory{make_threshold});
  registry.add(
      Entry("pruner.patience", "pruner", "Gives up what has not improved for some validations.")
          .with(Option("patience", "validations without an improvement").integer().at_least(1).positional().required())
          .with(Option("min_delta", "what counts as an improvement").number().at_least(0).or_default(0.0))
          .with(Option("base", "a pruner that must want it too").entry("pruner"))
          .example("pruner.patience(3, { base = pruner.median() })"),
      PrunerFactory{[](const Options& spec) {
        return std::make_unique<Patience>(spec.integer("patience"), spec.number("min_delta"),
                                          spec.given("base") ? make_pruner(spec.child("base")) : nullptr);
      }});
  registry.add(Entry("pruner.asha", "pruner",
                     "Asynchronous successive halving: at rungs of growing length the best of each few go on.")
                   .with(Option("min", "validations before the first rung").integer().at_least(1).or_default(1))
                   .with(reduction_option())
                   .example("pruner.asha { min = 2, reduction = 3 }")
                   .note("Li et al. 2020, in the variant that stops trials and never waits: rungs lie at min, "
                         "min · reduction, min · reduction² … validations."),
               PrunerFactory{[](const Options& spec) {
                 return std::make_unique<Asha>(spec.integer("min"), spec.integer("reduction"));
               }});
  registry.add(
      Entry("pruner.hyperband", "pruner",
            "Successive halving in several brackets, from many short trials to few long ones.")
          .with(Option("min", "validations before the first rung").integer().at_least(1).or_default(1))
          .with(Option("max", "validations of a whole trial").integer().at_least(1).required())
          .with(reduction_option())
          .example("pruner.hyperband { max = 27 }")
          .note("Li et al. 2018. With η = reduction and s_max = ⌊log_η(max / min)⌋ there are brackets s = 0 … s_max; "
                "bracket s has its first rung after min · η^(s_max − s) validations and gets "
                "⌈(s_max + 1) · η^s / (s + 1)⌉ of each round of trials."),
      PrunerFactory{make_hyperband});
  registry.add(
      Entry("pruner.wilcoxon", "pruner",
            "Gives up a configuration whose seeds are significantly worse than the best one's.")
          .with(Option("p", "chance at which a difference counts").number().more_than(0).less_than(1).or_default(0.1))
          .with(Option("startup", "seeds of a trial before it may be pruned").integer().at_least(2).or_default(4))
          .example("pruner.wilcoxon { p = 0.05 }")
          .note("Wilcoxon's signed-rank test (1945), exact up to 40 seeds; differences of zero are left out. One whose "
                "mean "
                "over the seeds so far is no worse than the best one's over the same seeds goes on."),
      PrunerFactory{
          [](const Options& spec) { return std::make_unique<Wilcoxon>(spec.number("p"), spec.integer("startup")); }});
}

}  // namespace trainlab

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "forecast/trend.h"
#include "optim/schedule.h"

namespace trainlab {
namespace {

// The factor after a fall, or the same factor where the fall would be too small to be made.
struct Falls {
  explicit Falls(const Options& spec)
      : reduce(spec.number("factor")), floor(spec.number("floor")), smallest(spec.number("eps")) {}

  double after(double factor) const {
    const double lower = std::max(factor * reduce, floor);
    return factor - lower > smallest ? lower : factor;
  }

  double reduce, floor, smallest;
};

// PyTorch's ReduceLROnPlateau, but for two of its faults: its relative threshold has the wrong sign for negative
// values (a value that got worse counts as better), and an infinite value would be the best for ever.
class Plateau final : public Schedule {
 public:
  explicit Plateau(const Options& spec)
      : falls_(spec),
        threshold_(spec.number("threshold")),
        relative_(spec.string("mode") == "rel"),
        patience_(spec.integer("patience")),
        cooldown_(spec.integer("cooldown")) {}

  double factor(std::int64_t) override { return factor_; }

  void validated(double value, bool minimize) override {
    if (is_better(value, minimize)) {
      best_ = value;
      bad_ = 0;
    } else {
      ++bad_;
    }
    if (pause_ > 0) {
      --pause_;
      bad_ = 0;
    }
    if (bad_ > patience_) {
      factor_ = falls_.after(factor_);
      pause_ = cooldown_;
      bad_ = 0;
    }
  }
  bool may_fall() const override { return falls_.after(factor_) < factor_; }

  Value state() const override {
    Value::Map state{{"factor", factor_}, {"bad", bad_}, {"pause", pause_}};
    if (best_) state["best"] = *best_;
    return state;
  }
  void restore(const Value& state) override {
    factor_ = state["factor"].number();
    bad_ = state["bad"].integer();
    pause_ = state["pause"].integer();
    best_.reset();
    if (const Value& best = state["best"]; !best.is_nil()) best_ = best.number();
  }

 private:
  bool is_better(double value, bool minimize) const {
    if (!std::isfinite(value)) return false;
    if (!best_) return true;
    const double best = *best_;
    if (!relative_) return minimize ? value < best - threshold_ : value > best + threshold_;
    // best ∓ threshold·|best|, rounded as PyTorch rounds it.
    const bool shrinks = minimize == (best >= 0);
    const double border = best * (shrinks ? 1 - threshold_ : 1 + threshold_);
    return minimize ? value < border : value > border;
  }

  Falls falls_;
  double threshold_;
  bool relative_;
  std::int64_t patience_, cooldown_;

  double factor_ = 1;
  std::optional<double> best_;
  std::int64_t bad_ = 0, pause_ = 0;  // validations without improvement; validations still to be ignored
};

// Lowers the rate when it is known, with 95 % confidence, that the value has stopped improving: when the most by which
// the values of a window may still fall is less than the threshold. A noisy series needs a longer window for this.
class NoiseAwarePlateau final : public Schedule {
 public:
  explicit NoiseAwarePlateau(const Options& spec)
      : falls_(spec),
        shortest_(static_cast<std::size_t>(std::clamp(2 * spec.integer("patience"), fewest_values, most_values))),
        cooldown_(spec.integer("cooldown")),
        relative_(spec.string("mode") == "rel") {
    if (spec.given("threshold")) threshold_ = spec.number("threshold");
  }

  double factor(std::int64_t) override { return factor_; }

  void validated(double value, bool minimize) override {
    if (!std::isfinite(value)) return;
    if (!minimize) value = -value;
    if (!first_) first_ = best_ = value;
    best_ = std::min(best_, value);
    if (pause_ > 0) {
      --pause_;
      return;
    }
    values_.push_back(value);
    ++count_;
    // A quarter of the validations at this rate, so that the window grows until the noise is small enough.
    const std::size_t window = std::max(shortest_, static_cast<std::size_t>(std::min(count_ / 4, most_values)));
    if (values_.size() > window) values_.erase(values_.begin(), values_.end() - static_cast<std::ptrdiff_t>(window));
    if (count_ < 2 * static_cast<std::int64_t>(shortest_) || !(most_fall(values_) < tolerance())) return;
    factor_ = falls_.after(factor_);
    pause_ = cooldown_;
    count_ = 0;
    values_.clear();
  }
  bool may_fall() const override { return falls_.after(factor_) < factor_; }

  Value state() const override {
    Value::Map state{{"factor", factor_}, {"count", count_}, {"pause", pause_}, {"best", best_}};
    state["values"] = Value::List(values_.begin(), values_.end());
    if (first_) state["first"] = *first_;
    return state;
  }
  void restore(const Value& state) override {
    factor_ = state["factor"].number();
    count_ = state["count"].integer();
    pause_ = state["pause"].integer();
    best_ = state["best"].number();
    first_.reset();
    if (const Value& first = state["first"]; !first.is_nil()) first_ = first.number();
    values_.clear();
    for (const Value& one : state["values"].list()) values_.push_back(one.number());
  }

 private:
  static constexpr std::int64_t fewest_values = 6, most_values = 1000;

  // By default 1 % of what was gained so far.
  double tolerance() const {
    if (!threshold_) return 0.01 * (*first_ - best_);
    return relative_ ? *threshold_ * std::abs(best_) : *threshold_;
  }

  Falls falls_;
  std::size_t shortest_;  // values of the shortest window
  std::int64_t cooldown_;
  bool relative_;
  std::optional<double> threshold_;

  double factor_ = 1;
  std::optional<double> first_;         // of the run; values are kept so that smaller is better
  double best_ = 0;                     // of the run
  std::int64_t count_ = 0, pause_ = 0;  // validations at this rate; validations still to be ignored
  std::vector<double> values_;          // of the window
};

}  // namespace

void register_plateau(Registry& registry) {
  registry.add(
      Entry("sched.plateau", "schedule", "Lowers the rate when the monitored value has stopped improving.")
          .with(Option("factor", "number by which the rate is multiplied")
                    .number()
                    .more_than(0)
                    .less_than(1)
                    .or_default(0.1))
          .with(Option("patience",
                       "validations without improvement that are tolerated; with noise_aware half of the shortest "
                       "window")
                    .integer()
                    .at_least(0)
                    .or_default(10))
          .with(Option("threshold",
                       "smallest change that counts as improvement; with noise_aware the change over a window, by "
                       "default 1 % of what was gained so far")
                    .number()
                    .at_least(0)
                    .or_default(1e-4))
          .with(Option("mode", "whether the threshold is a share of the best value or an amount")
                    .choice({"rel", "abs"})
                    .or_default("rel"))
          .with(Option("cooldown", "validations after a reduction that are not counted")
                    .integer()
                    .at_least(0)
                    .or_default(0))
          .with(Option("floor", "lowest factor").number().at_least(0).at_most(1).or_default(0.0))
          .with(Option("eps", "smallest change of the factor that is made").number().at_least(0).or_default(1e-8))
          .with(Option("noise_aware", "wait until the noise of the validations leaves no doubt")
                    .boolean()
                    .or_default(false))
          .example("sched.plateau { factor = 0.5, patience = 3 }")
          .note("When more than `patience` validations in a row have not been better than the best value so far by "
                "more than `threshold` (\"abs\") or `threshold`·|best| (\"rel\"), the rate is multiplied by `factor` "
                "and the count starts anew. The direction is the monitored metric's own. For positive values this is "
                "PyTorch's ReduceLROnPlateau. With `noise_aware` the rate is lowered when it is known, with 95 % "
                "confidence, that the value falls by less than the threshold over the last quarter of its validations "
                "at this rate; in simulated trainings with noise as large as the threshold, 0 % to 15 % of these falls "
                "of the rate were false alarms, depending on the form of the curve, and up to 47 % where the noise of "
                "neighbouring validations was correlated (docs/optimizers.md)."),
      ScheduleKind{.make = [](const Options& spec, const RunLength&) -> std::unique_ptr<Schedule> {
                     if (spec.boolean("noise_aware")) return std::make_unique<NoiseAwarePlateau>(spec);
                     return std::make_unique<Plateau>(spec);
                   },
                   .follows_validations = true});
}

}  // namespace trainlab

#include "plateau.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "optim/schedule.h"

namespace trainlab {
namespace {

// PyTorch's ReduceLROnPlateau, but for two of its faults: its relative threshold has the wrong sign for negative
// values (a value that got worse counts as better), and an infinite value would be the best for ever.
class Plateau final : public Schedule {
 public:
  explicit Plateau(const Options& spec)
      : reduce_(spec.number("factor")),
        threshold_(spec.number("threshold")),
        relative_(spec.string("mode") == "rel"),
        floor_(spec.number("floor")),
        smallest_(spec.number("eps")),
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
      const double lower = std::max(factor_ * reduce_, floor_);
      if (factor_ - lower > smallest_) factor_ = lower;
      pause_ = cooldown_;
      bad_ = 0;
    }
  }

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

  double reduce_, threshold_;
  bool relative_;
  double floor_, smallest_;
  std::int64_t patience_, cooldown_;

  double factor_ = 1;
  std::optional<double> best_;
  std::int64_t bad_ = 0, pause_ = 0;  // validations without improvement; validations still to be ignored
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
          .with(Option("patience", "validations without improvement that are tolerated")
                    .integer()
                    .at_least(0)
                    .or_default(10))
          .with(Option("threshold", "smallest change that counts as improvement").number().at_least(0).or_default(1e-4))
          .with(Option("mode", "whether the threshold is a share of the best value or an amount")
                    .choice({"rel", "abs"})
                    .or_default("rel"))
          .with(Option("cooldown", "validations after a reduction that are not counted")
                    .integer()
                    .at_least(0)
                    .or_default(0))
          .with(Option("floor", "lowest factor").number().at_least(0).at_most(1).or_default(0.0))
          .with(Option("eps", "smallest change of the factor that is made").number().at_least(0).or_default(1e-8))
          .example("sched.plateau { factor = 0.5, patience = 3 }")
          .note("When more than `patience` validations in a row have not been better than the best value so far by "
                "more than `threshold` (\"abs\") or `threshold`·|best| (\"rel\"), the rate is multiplied by `factor` "
                "and the count starts anew. The direction is the monitored metric's own. For positive values this is "
                "PyTorch's ReduceLROnPlateau."),
      ScheduleFactory{[](const Options& spec, const RunLength&) { return std::make_unique<Plateau>(spec); }});
}

}  // namespace trainlab

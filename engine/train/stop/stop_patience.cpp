#include <cmath>

#include "core/value.h"
#include "core/words.h"
#include "stop_rule.h"

namespace trainlab {

namespace {

class Patience final : public StopRule {
 public:
  Patience(const Options& options, const StopContext& context)
      : metric_(options, context.monitor),
        minimize_(metric_.minimize(context)),
        patience_(options.integer("patience")),
        min_delta_(options.number("min_delta")) {}

  std::optional<std::string> validated(const Progress& progress) override {
    const double value = metric_.read(progress);
    if (improves(value)) {
      best_ = value;
      bad_ = 0;
      return std::nullopt;
    }
    if (++bad_ < patience_) return std::nullopt;
    std::string reason = metric_.name() + " did not improve";
    if (min_delta_ > 0) reason += " by more than " + number_text(min_delta_);
    reason += " in " + counted(bad_, "validation");
    return best_ ? reason + " (best " + number_text(*best_) + ")" : reason + " (it was never finite)";
  }

  std::string at_not_finite(const std::string& metric, double) const override {
    return metric == metric_.name() ? "stop.patience counts it as no improvement" : "";
  }

  Value state() const override { return Value::Map{{"bad", bad_}, {"best", best_ ? Value(*best_) : Value()}}; }
  void restore(const Value& state) override {
    bad_ = state["bad"].integer();
    best_.reset();
    if (!state["best"].is_nil()) best_ = state["best"].number();
  }

 private:
  bool improves(double value) const {
    if (!std::isfinite(value)) return false;
    if (!best_) return true;
    return minimize_ ? value + min_delta_ < *best_ : value - min_delta_ > *best_;
  }

  WatchedMetric metric_;
  bool minimize_;
  std::int64_t patience_;
  double min_delta_;
  std::int64_t bad_ = 0;        // validations since the best
  std::optional<double> best_;  // the last value that counted as an improvement
};

}  // namespace

void register_stop_patience(Registry& registry) {
  registry.add(
      Entry("stop.patience", "stop",
            "Stops when `patience` validations in a row did not improve on the best value by more than `min_delta`.")
          .with(Option("patience", "validations without improvement that end the run")
                    .integer()
                    .at_least(1)
                    .or_default(3)
                    .in("validations")
                    .positional())
          .with(Option("metric", "name of the metric, for instance \"val.loss\" (default: the fit's monitor)").string())
          .with(Option("min_delta", "improvements up to this size do not count").number().at_least(0).or_default(0.0))
          .example("stop.patience { metric = \"val.loss\", patience = 5, min_delta = 1e-3 }")
          .note("Lightning's rule (EarlyStopping). The best value is the last one that counted as an improvement; the "
                "metric's declaration says whether smaller or "
                "larger is better. A value that is not finite is no improvement. The rule counts validations, or "
                "epochs if there is no validation part."),
      StopFactory{[](const Options& options, const StopContext& context) -> std::unique_ptr<StopRule> {
        return std::make_unique<Patience>(options, context);
      }});
}

}  // namespace trainlab

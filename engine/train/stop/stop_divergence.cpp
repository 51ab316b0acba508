#include <algorithm>
#include <cmath>

#include "core/value.h"
#include "core/words.h"
#include "stop_rule.h"

namespace trainlab {

namespace {

// A loss near zero may bounce by large factors without harm, so the distance from the best is measured in its own size
// or in this share of the first value, whichever is larger.
constexpr double first_share = 0.1;

class Divergence final : public StopRule {
 public:
  Divergence(const Options& options, const StopContext& context)
      : metric_(options, "train.loss"), factor_(options.number("factor")), checks_(options.integer("checks")) {
    if (options.has("above")) above_ = options.number("above");
    if (!metric_.minimize(context)) {
      throw options.error("metric", "expected a metric that is better when smaller, found " + metric_.name())
          .hint("for other metrics use stop.threshold { metric = \"" + metric_.name() + "\", below = … }");
    }
  }

  std::optional<std::string> validated(const Progress& progress) override {
    const double value = metric_.read(progress);
    if (!std::isfinite(value)) return metric_.name() + " is " + number_text(value);
    if (!first_) first_ = best_ = value;
    best_ = std::min(best_, value);
    const double limit = this->limit();
    bad_ = value > limit ? bad_ + 1 : 0;
    if (bad_ < checks_) return std::nullopt;
    return metric_.name() + " is " + number_text(value) + ", above " + number_text(limit) + " at " +
           counted(bad_, "validation") + " in a row (best " + number_text(best_) + ")";
  }

  std::string at_not_finite(const std::string& metric, double) const override {
    return metric == metric_.name() ? "stop.divergence stops the fit" : "";
  }

  Value state() const override {
    return first_ ? Value(Value::Map{{"bad", bad_}, {"best", best_}, {"first", *first_}}) : Value();
  }
  void restore(const Value& state) override {
    first_.reset();
    best_ = 0;
    bad_ = 0;
    if (state.is_nil()) return;
    first_ = state["first"].number();
    best_ = state["best"].number();
    bad_ = state["bad"].integer();
  }

 private:
  double limit() const {
    const double risen = best_ + (factor_ - 1) * std::max(std::abs(best_), first_share * std::abs(*first_));
    return above_ ? std::min(risen, *above_) : risen;
  }

  WatchedMetric metric_;
  double factor_;
  std::int64_t checks_;
  std::optional<double> above_;
  std::optional<double> first_;  // the first value, none before it
  double best_ = 0;
  std::int64_t bad_ = 0;  // validations above the limit in a row
};

}  // namespace

void register_stop_divergence(Registry& registry) {
  registry.add(
      Entry("stop.divergence", "stop",
            "Stops when the metric is not finite, or has been far above its best for `checks` validations in a row.")
          .with(Option("metric", "name of a metric that is better when smaller").string().or_default("train.loss"))
          .with(Option("factor", "far above: more than this many times the best").number().more_than(1).or_default(3.0))
          .with(Option("above", "values larger than this are far above, too").number())
          .with(Option("checks", "validations in a row").integer().at_least(1).or_default(3).in("validations"))
          .example("stop.divergence { factor = 4 }")
          .note("Far above means: larger than best + (factor − 1) · s, where s is |best|, or a tenth of |first value| "
                "where that is larger, so that a loss near zero may "
                "bounce. NaN or infinity stop at once."),
      StopFactory{[](const Options& options, const StopContext& context) -> std::unique_ptr<StopRule> {
        return std::make_unique<Divergence>(options, context);
      }});
}

}  // namespace trainlab

// The stop rules of Prechelt, "Early Stopping - But When?" (1998): GL, PQ and UP.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/value.h"
#include "core/words.h"
#include "stop_rule.h"

namespace trainlab {

namespace {

constexpr double percent = 100, thousand = 1000;
const std::string training_loss = "train.loss";

// A loss that is watched. A value that is not finite is left out, as if there had been no validation.
class LossRule : public StopRule {
 public:
  LossRule(const Options& options, const StopContext& context)
      : loss_(options, context.monitor), name_(options.entry().name) {
    if (!loss_.minimize(context)) {
      throw options.error("metric", "expected a metric that is better when smaller, found " + loss_.name())
          .hint(name_ + " { metric = \"val.loss\" }");
    }
  }

  std::optional<std::string> validated(const Progress& progress) final {
    const double value = loss_.read(progress);
    return std::isfinite(value) ? judged(value, progress) : std::nullopt;
  }

  std::string at_not_finite(const std::string& metric, double) const final {
    return metric == loss_.name() ? name_ + " leaves it out" : "";
  }

 protected:
  virtual std::optional<std::string> judged(double value, const Progress& progress) = 0;
  const std::string& loss_name() const { return loss_.name(); }

 private:
  WatchedMetric loss_;
  std::string name_;
};

// The least loss so far, and how far another value is above it, in percent: 0 where the least is not above 0.
class Least {
 public:
  void add(double value) { value_ = std::min(value_, value); }
  double value() const { return value_; }
  double percent_above(double value) const { return value_ > 0 ? percent * (value / value_ - 1) : 0; }
  Value state() const { return std::isinf(value_) ? Value() : Value(value_); }
  void restore(const Value& state) {
    value_ = state.is_nil() ? std::numeric_limits<double>::infinity() : state.number();
  }

 private:
  double value_ = std::numeric_limits<double>::infinity();
};

std::string in_tenths(double x) {
  constexpr double tenths = 10;
  return number_text(std::round(tenths * x) / tenths);
}

std::string above_text(const std::string& name, double loss, const Least& least) {
  return name + " is " + number_text(loss) + ", " + in_tenths(least.percent_above(loss)) + " % above its best " +
         number_text(least.value());
}

class GeneralizationLoss final : public LossRule {
 public:
  GeneralizationLoss(const Options& options, const StopContext& context)
      : LossRule(options, context), above_(options.number("above")) {}

  Value state() const override { return Value::Map{{"least", least_.state()}}; }
  void restore(const Value& state) override { least_.restore(state["least"]); }

 private:
  std::optional<std::string> judged(double value, const Progress&) override {
    least_.add(value);
    if (least_.percent_above(value) <= above_) return std::nullopt;
    return above_text(loss_name(), value, least_);
  }

  double above_;
  Least least_;
};

// The training loss of a strip of validations is still falling by P = 1000 (mean / least − 1).
class GeneralizationQuotient final : public LossRule {
 public:
  GeneralizationQuotient(const Options& options, const StopContext& context)
      : LossRule(options, context), above_(options.number("above")), strip_(options.integer("strip")) {
    context.minimize(training_loss);  // raises where there is none
  }

  Value state() const override {
    return Value::Map{{"least", least_.state()}, {"training", strip_least_.state()}, {"sum", sum_}, {"count", count_}};
  }
  void restore(const Value& state) override {
    least_.restore(state["least"]);
    strip_least_.restore(state["training"]);
    sum_ = state["sum"].number();
    count_ = state["count"].integer();
  }

 private:
  std::optional<std::string> judged(double value, const Progress& progress) override {
    least_.add(value);
    const double training = progress.metric(training_loss);
    if (!std::isfinite(training)) return std::nullopt;
    strip_least_.add(training);
    sum_ += training;
    if (++count_ < strip_) return std::nullopt;
    const double falls = thousand * (sum_ / static_cast<double>(strip_) / strip_least_.value() - 1);
    // The quotient says nothing of training losses that are not above 0.
    const bool stops = strip_least_.value() > 0 && least_.percent_above(value) > above_ * falls;
    strip_least_ = {};
    sum_ = 0;
    count_ = 0;
    if (!stops) return std::nullopt;
    return above_text(loss_name(), value, least_) + ", while " + training_loss + " falls by " + in_tenths(falls) +
           " per mille in " + counted(strip_, "validation");
  }

  double above_;
  std::int64_t strip_;
  Least least_, strip_least_;
  double sum_ = 0;
  std::int64_t count_ = 0;  // validations of the present strip
};

class Rising final : public LossRule {
 public:
  Rising(const Options& options, const StopContext& context)
      : LossRule(options, context), times_(options.integer("times")), strip_(options.integer("strip")) {}

  Value state() const override {
    return Value::Map{{"count", count_}, {"rises", rises_}, {"before", before_ ? Value(*before_) : Value()}};
  }
  void restore(const Value& state) override {
    count_ = state["count"].integer();
    rises_ = state["rises"].integer();
    before_.reset();
    if (!state["before"].is_nil()) before_ = state["before"].number();
  }

 private:
  std::optional<std::string> judged(double value, const Progress&) override {
    if (++count_ < strip_) return std::nullopt;
    count_ = 0;
    rises_ = before_ && value > *before_ ? rises_ + 1 : 0;
    before_ = value;
    if (rises_ < times_) return std::nullopt;
    return loss_name() + " rose " + std::to_string(rises_) + " times in a row from one strip of " +
           counted(strip_, "validation") + " to the next";
  }

  std::int64_t times_, strip_;
  std::int64_t count_ = 0, rises_ = 0;  // validations of the present strip; strips in a row that ended higher
  std::optional<double> before_;        // at the end of the last strip
};

Option loss_option() {
  return Option("metric", "name of a metric that is better when smaller (default: the fit's monitor)").string();
}

Option strip_option() { return Option("strip", "validations of a strip").integer().at_least(1).or_default(5); }

template <class Rule>
StopFactory making() {
  return [](const Options& options, const StopContext& context) -> std::unique_ptr<StopRule> {
    return std::make_unique<Rule>(options, context);
  };
}

}  // namespace

void register_stop_prechelt(Registry& registry) {
  registry.add(
      Entry("stop.generalization_loss", "stop", "Stops when the loss is more than `above` percent above its best.")
          .with(Option("above", "percent").number().at_least(0).or_default(5.0).positional())
          .with(loss_option())
          .example("stop.generalization_loss { above = 5 }")
          .note("GL of Prechelt (1998): 100 (E / E_best − 1) > above, after each validation. The rule does not know "
                "noise: a noisy loss stops it too early. Nothing stops while the best is not above 0; a value that is "
                "not finite is left out."),
      making<GeneralizationLoss>());
  registry.add(
      Entry("stop.generalization_quotient", "stop",
            "Stops when the loss is above its best by more than the training loss still falls.")
          .with(Option("above", "the quotient").number().at_least(0).or_default(1.0).positional())
          .with(strip_option())
          .with(loss_option())
          .example("stop.generalization_quotient { above = 1, strip = 5 }")
          .note("PQ of Prechelt (1998), at the end of each strip of validations: GL > above · P, with GL as in "
                "stop.generalization_loss, and P = 1000 (mean / least − 1) of the training losses of the strip. "
                "Nothing stops while the best or a training loss of the strip is not above 0; values that are not "
                "finite are left out."),
      making<GeneralizationQuotient>());
  registry.add(
      Entry("stop.rising", "stop", "Stops when the loss rose `times` times in a row from one strip to the next.")
          .with(Option("times", "strips in a row").integer().at_least(1).or_default(3).positional())
          .with(strip_option())
          .with(loss_option())
          .example("stop.rising { times = 3, strip = 5 }")
          .note("UP of Prechelt (1998): the last validation of each strip is compared with the last one of the strip "
                "before. A value that is not finite is left out."),
      making<Rising>());
}

}  // namespace trainlab

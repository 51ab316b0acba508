#include <fmt/format.h>

#include <algorithm>

#include "core/time_in_seconds.h"
#include "core/value.h"
#include "forecast/forecast.h"
#include "stop_rule.h"

namespace trainlab {

namespace {

class ForecastRule final : public StopRule {
 public:
  ForecastRule(const Options& options, const StopContext& context)
      : metric_(options, context.monitor), worth_(options.number("worth")), curve_(metric_.minimize(context)) {
    if (options.has("within")) within_ = time_in_seconds(options, "within");
  }

  std::optional<std::string> validated(const Progress& progress) override {
    curve_.add(static_cast<double>(progress.step), metric_.read(progress));
    std::int64_t at = progress.total_steps;
    if (!first_) first_ = {.step = progress.step, .seconds = progress.seconds};
    if (within_) {
      const double seconds = progress.seconds - first_->seconds;
      if (!(seconds > 0)) return std::nullopt;  // nobody knows how far the training comes
      const double more = *within_ * static_cast<double>(progress.step - first_->step) / seconds;
      const auto reached = progress.step + static_cast<std::int64_t>(std::min(more, 1e15));
      at = at > 0 ? std::min(at, reached) : reached;
    }
    if (at <= progress.step || (progress.rate_falls && progress.rate_falls())) return std::nullopt;
    const std::optional<double> gain = most_gain(curve_, at);
    if (!gain || !(*gain < worth_)) return std::nullopt;
    return fmt::format("{} is forecast to improve by at most {:.3g} until step {}, less than {} (best {:.4g})",
                       metric_.name(), *gain, at, number_text(worth_), curve_.points().back().best);
  }

  std::string at_not_finite(const std::string& metric, double) const override {
    return metric == metric_.name() ? "stop.forecast leaves it out" : "";
  }

  Value state() const override { return curve_.state(); }
  void restore(const Value& state) override { curve_.restore(state); }

 private:
  WatchedMetric metric_;
  double worth_;
  std::optional<double> within_;  // seconds
  LearningCurve curve_;
  // The first validation that this object has seen. The speed is that of the steps since, so that no time counts that a
  // fix has thrown away, nor that of another machine before a resume.
  struct Start {
    std::int64_t step = 0;
    double seconds = 0;
  };
  std::optional<Start> first_;
};

}  // namespace

void register_stop_forecast(Registry& registry) {
  registry.add(
      Entry("stop.forecast", "stop",
            "Stops when the forecast promises less than `worth` from training on, even at the better end of its "
            "interval.")
          .with(Option("worth", "smallest improvement worth more training, in the metric's own unit")
                    .number()
                    .at_least(0)
                    .required())
          .with(Option("metric", "name of the metric, for instance \"val.loss\" (default: the fit's monitor)").string())
          .with(Option("within", "the improvement is to come within this time of training (default: until the end)")
                    .duration()
                    .in("time"))
          .example("stop.forecast { worth = 0.002, within = \"1 h\" }")
          .note("Asked from the tenth validation on, and not while the schedule still lowers the learning rate, which "
                "no curve so far shows. With `within` the rule depends on the speed of the machine. docs/forecasts.md "
                "says how good the forecasts are."),
      StopFactory{[](const Options& options, const StopContext& context) -> std::unique_ptr<StopRule> {
        return std::make_unique<ForecastRule>(options, context);
      }});
}

}  // namespace trainlab

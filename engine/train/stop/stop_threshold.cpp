#include "core/value.h"
#include "stop_rule.h"

namespace trainlab {

namespace {

class Threshold final : public StopRule {
 public:
  Threshold(const Options& options, const StopContext& context) : metric_(options, context.monitor) {
    if (options.has("above") == options.has("below")) {
      throw options
          .error("", options.has("above") ? "expected only one of above and below, found both"
                                          : "expected above or below, found neither")
          .hint("stop.threshold { metric = \"" + metric_.name() + "\", above = 0.99 }");
    }
    above_ = options.has("above");
    limit_ = options.number(above_ ? "above" : "below");
    const bool minimize = metric_.minimize(context);  // raises for an unknown name before anything has run
    const std::optional<double> best = context.best_possible(metric_.name());
    if (best && minimize != above_ && (above_ ? limit_ >= *best : limit_ <= *best)) {
      throw options.error(above_ ? "above" : "below", std::string("expected ") + (above_ ? "less" : "more") + " than " +
                                                          number_text(*best) + ", because no model can have a " +
                                                          metric_.name() + (above_ ? " above " : " below ") +
                                                          number_text(*best) + "; found " + number_text(limit_));
    }
  }

  std::optional<std::string> validated(const Progress& progress) override {
    const double value = metric_.read(progress);
    const bool passed = above_ ? value > limit_ : value < limit_;
    if (!passed) return std::nullopt;
    return metric_.name() + " is " + number_text(value) + (above_ ? ", above " : ", below ") + number_text(limit_);
  }

  std::string at_not_finite(const std::string& metric, double value) const override {
    return metric == metric_.name() && std::isnan(value) ? "to stop.threshold it is neither above nor below" : "";
  }

 private:
  WatchedMetric metric_;
  bool above_ = false;
  double limit_ = 0;
};

}  // namespace

void register_stop_threshold(Registry& registry) {
  registry.add(
      Entry("stop.threshold", "stop", "Stops at the first validation where the metric is above, or below, a number.")
          .with(Option("metric", "name of the metric, for instance \"val.accuracy\" (default: the fit's monitor)")
                    .string())
          .with(Option("above", "stop when the metric is larger than this").number())
          .with(Option("below", "stop when the metric is smaller than this").number())
          .example("stop.threshold { metric = \"val.accuracy\", above = 0.99 }")
          .note("Give exactly one of above and below. NaN is neither above nor below."),
      StopFactory{[](const Options& options, const StopContext& context) -> std::unique_ptr<StopRule> {
        return std::make_unique<Threshold>(options, context);
      }});
}

}  // namespace trainlab

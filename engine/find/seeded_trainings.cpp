#include "seeded_trainings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>

#include "core/clock.h"
#include "core/words.h"

namespace trainlab {

namespace {

constexpr int fewest_seeds = 2, usual_seeds = 3, most_seeds = 10;

// The steps of the fit, with which its time grows; 1 where a time ends it.
double steps_of(const FitPlan& plan) {
  return plan.length.total_steps > 0 ? static_cast<double>(plan.length.total_steps) : 1;
}

class SeededTrainings {
 public:
  SeededTrainings(const SeededQuestion& question, const RunSettings& settings, const SearchContext& context)
      : question_(question),
        settings_(settings),
        context_(context),
        results_{
            .findings = {.metric = question.fit.monitor, .minimize = question.fit.minimize(question.fit.monitor)}} {}

  SeededResults train() {
    const double begun = steady_seconds();
    const int count = context_.seconds_left ? most_seeds : usual_seeds;
    for (int number = 0; number < count; ++number) {
      const std::vector<FitPlan> plans = question_.plans(settings_.seed + number);
      results_.sizes.resize(plans.size());
      per_step_.resize(plans.size());
      if (number >= fewest_seeds && is_too_long(seconds_of(plans, 0))) break;
      const double now = steady_seconds();
      add(train_seed(plans, number));
      context_.tell(
          fmt::format("seed {} of at most {}: {}, {:.3g} s", number + 1, count, latest_, steady_seconds() - now));
    }
    const std::size_t complete = results_.sizes.front().values.size();
    if (complete < static_cast<std::size_t>(fewest_seeds)) {
      throw run_error(fmt::format("expected at least two seeds with a finite {} for all sizes, found {}, and {} failed",
                                  metric(), complete, results_.findings.failed));
    }
    results_.findings.seeds = complete;
    results_.findings.seconds = steady_seconds() - begun;
    return std::move(results_);
  }

 private:
  const std::string& metric() const { return results_.findings.metric; }
  bool is_too_long(double seconds) const { return context_.seconds_left && seconds > context_.seconds_left(); }

  // The seconds of the trainings from this size on, as far as they are known by now.
  double seconds_of(const std::vector<FitPlan>& plans, std::size_t from) const {
    double sum = 0, before = 0;
    for (std::size_t size = 0; size < plans.size(); ++size) {
      const double one = per_step_[size] > 0 ? per_step_[size] : before * question_.growth;
      before = one;
      if (size >= from) sum += one * steps_of(plans[size]);
    }
    return sum;
  }

  // A value for each size.
  std::vector<double> train_seed(const std::vector<FitPlan>& plans, int number) {
    const int later = std::max(fewest_seeds - 1 - number, 0);  // further seeds that are needed
    std::vector<double> values;
    for (std::size_t size = 0; size < plans.size(); ++size) {
      const double needed = number < fewest_seeds ? seconds_of(plans, size) + later * seconds_of(plans, 0) : 0;
      if (is_too_long(needed)) {
        // Before the first training has ended, nobody knows how long one takes.
        const double largest = seconds_of(plans, plans.size() - 1);
        throw usage_error("--within: two seeds do not fit; " +
                          (largest > 0 ? fmt::format("a training of the largest size takes about {:.3g} s", largest)
                                       : "the time was over before the first training"))
            .hint("more time, or a shorter training: --set epochs=N");
      }
      const double begun = steady_seconds();
      values.push_back(value_of(plans[size]));
      results_.sizes[size].seconds = steady_seconds() - begun;
      per_step_[size] = results_.sizes[size].seconds / steps_of(plans[size]);
    }
    return values;
  }

  // The metric of the weights that the fit keeps; NaN for a fit that has failed.
  double value_of(const FitPlan& plan) const {
    StageContext stage = silent_context(plan.options);
    stage.settings = &settings_;
    const FitMember member{.options = plan.options, .context = std::move(stage), .shows_progress = false};
    const Value summary = run_fits(plan, {&member, 1}, false).front();
    if (stop_requested()) throw Error(ErrorKind::interrupted, "asked to stop between trainings");
    const Value& value = summary["metrics"][metric()];
    return value.is_number() && summary["status"] != Value("failed") ? value.number() : std::nan("");
  }

  void add(const std::vector<double>& values) {
    latest_ = metric() + " " + joined(values, ", ", [](double one) { return fmt::format("{:.4g}", one); });
    if (!std::ranges::all_of(values, [](double one) { return std::isfinite(one); })) {
      ++results_.findings.failed;
      return;
    }
    for (std::size_t size = 0; size < values.size(); ++size) results_.sizes[size].values.push_back(values[size]);
  }

  const SeededQuestion& question_;
  const RunSettings& settings_;
  const SearchContext& context_;
  SeededResults results_;
  std::vector<double> per_step_;  // by size: seconds of a step in its latest training; 0: none has ended
  std::string latest_;            // the values of the latest seed, as text
};

}  // namespace

Options with_seed(const Registry& registry, const Spec& fit, std::int64_t seed) {
  auto spec = std::make_shared<Spec>(fit);
  spec->value.set("seed", seed);
  spec->value = registry.check(spec->value);
  return {registry, std::move(spec), ""};
}

void check_monitors_validation(const FitPlan& plan, const std::string& which) {
  if (!plan.monitor.starts_with("train.")) return;
  throw plan.options
      .error("monitor", "expected a metric of a validation part, found " + plan.monitor + ", which " + which)
      .hint("data:split { train = 0.9, val = 0.1 }");
}

SeededResults train_seeds(const SeededQuestion& question, const RunSettings& settings, const SearchContext& context) {
  return SeededTrainings(question, settings, context).train();
}

std::string last_lines(const SeededFindings& found) {
  std::string text;
  if (found.failed > 0)
    text = fmt::format("  failed   {} seeds, whose {} was not finite; they do not count\n", found.failed, found.metric);
  return text + fmt::format("  took     {:.3g} s\n", found.seconds);
}

Value to_value(const SeededFindings& found) {
  return Value::Map{{"metric", found.metric},
                    {"goal", found.minimize ? "min" : "max"},
                    {"seeds", static_cast<std::int64_t>(found.seeds)},
                    {"failed", found.failed},
                    {"seconds", found.seconds}};
}

}  // namespace trainlab

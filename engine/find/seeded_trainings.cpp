#include "seeded_trainings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "core/clock.h"
#include "core/words.h"
#include "find/training_pace.h"
#include "trainings.h"

namespace trainlab {

namespace {

constexpr int fewest_seeds = 2, usual_seeds = 3, most_seeds = 10;
// It is clear that the time is too short where trainings seem to take this many times as long: a machine that is busy
// for a moment makes the estimate from the first steps too large.
constexpr double clear_excess = 2;

// The steps of the fit, with which its time grows; 1 where a time ends it.
double steps_of(const FitPlan& plan) {
  return plan.length.total_steps > 0 ? static_cast<double>(plan.length.total_steps) : 1;
}

// Three digits, or whole seconds.
std::string rounded_seconds(double seconds) {
  constexpr double whole = 1000;
  return seconds < whole ? fmt::format("{:.3g} s", seconds) : fmt::format("{:.0f} s", seconds);
}

class SeededTrainings {
 public:
  SeededTrainings(const SeededQuestion& question, const RunSettings& settings, const SearchContext& context)
      : question_(question),
        settings_(settings),
        context_(context),
        may_end_early_(question.fit.options.given("stop") || question.fit.options.given("step")),
        results_{
            .findings = {.metric = question.fit.monitor, .minimize = question.fit.minimize(question.fit.monitor)}} {}

  SeededResults train() {
    const double begun = steady_seconds();
    const int count = context_.seconds_left ? most_seeds : usual_seeds;
    for (int number = 0; number < count; ++number) {
      begin_seed(settings_.seed + number);
      if (number >= fewest_seeds && is_longer_than_left(seconds_from(0, question_.growth))) break;
      const double now = steady_seconds();
      const std::optional<std::vector<double>> values = train_seed(number);
      if (!values && number < fewest_seeds) throw too_little_time();
      if (!values) break;
      add(*values);
      context_.tell(fmt::format("seed {} of at most {}: {}, {}", number + 1, count, latest_,
                                rounded_seconds(steady_seconds() - now)));
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

  void begin_seed(std::int64_t seed) {
    plans_ = question_.plans(seed);
    if (!per_step_.empty()) return;
    results_.sizes.resize(plans_.size());
    for (const FitPlan& plan : plans_) {
      const bool is_known = plan.length.total_steps == 0 && !may_end_early_;
      per_step_.push_back(is_known ? plan.time_budget : 0);
    }
  }

  // The seconds of the seed's trainings from this size on, as far as they are known by now. `times`: how many times as
  // long a step of a size takes as one of the size before, until its time is known.
  double seconds_from(std::size_t from, double times) const {
    double sum = 0, step = 0;
    for (std::size_t size = 0; size < plans_.size(); ++size) {
      step = per_step_[size] > 0 ? per_step_[size] : step * times;
      const double seconds = step * steps_of(plans_[size]), most = plans_[size].time_budget;
      if (size >= from) sum += most > 0 ? std::min(seconds, most) : seconds;
    }
    return sum;
  }

  // The least seconds of the trainings from this one on without which there is no result: those of the present seed,
  // and of the seed after the first one. A step of a size takes no less time than one of the size before.
  double needed_from(int number, std::size_t size) const {
    const int later = std::max(fewest_seeds - 1 - number, 0);
    return seconds_from(size, 1) + later * seconds_from(0, 1);
  }

  bool is_over() const { return context_.seconds_left && context_.seconds_left() <= 0; }
  bool is_longer_than_left(double seconds) const { return context_.seconds_left && seconds > context_.seconds_left(); }

  // Whether the time is over, or clearly too short for the seconds that are needed.
  bool is_hopeless(double needed) const { return is_over() || is_longer_than_left(needed / clear_excess); }

  // A value for each size; nullopt where there is no time for them.
  std::optional<std::vector<double>> train_seed(int number) {
    std::vector<double> values;
    for (std::size_t size = 0; size < plans_.size(); ++size) {
      if (is_hopeless(needed_from(number, size))) return std::nullopt;
      const double begun = steady_seconds();
      const std::optional<double> value = value_of(number, size);
      if (!value) return std::nullopt;
      values.push_back(*value);
      results_.sizes[size].seconds = steady_seconds() - begun;
      per_step_[size] = results_.sizes[size].seconds / steps_of(plans_[size]);
      told_ = std::max(told_, size + 1);
    }
    return values;
  }

  // The metric of the weights that the fit keeps; NaN for a fit that has failed; nullopt for one that was left, because
  // there is no time for it or for what must follow.
  std::optional<double> value_of(int number, std::size_t size) {
    const FitPlan& plan = plans_[size];
    const auto pace = std::make_shared<TrainingPace>(
        plan, [&](const TrainingPace& so_far) { return is_to_be_left(so_far, number, size); });
    const Value summary = train_silently(plan, settings_, {.observers = {pace}});
    if (summary.is_nil()) return std::nullopt;
    const Value& value = summary["metrics"][metric()];
    return value.is_number() && summary["status"] != Value("failed") ? value.number() : std::nan("");
  }

  // Asked after each step of a training.
  bool is_to_be_left(const TrainingPace& pace, int number, std::size_t size) {
    if (!is_over() && !pace.is_known()) return false;
    per_step_[size] = pace.seconds() / steps_of(plans_[size]);
    if (told_ == size) tell_length(pace.seconds());
    return is_over() || (!may_end_early_ && is_hopeless(needed_from(number, size) - pace.elapsed()));
  }

  // Says how long the training takes, which is the first of its size. A training that ends before this is known is
  // short, and nothing is said.
  void tell_length(double seconds) {
    context_.tell(fmt::format("size {} of {}: a training takes {}", told_ + 1, plans_.size(), about(seconds)));
    ++told_;
  }

  // An estimate, for trainings of the full length.
  std::string about(double seconds) const {
    return (may_end_early_ ? "up to about " : "about ") + rounded_seconds(seconds);
  }

  Error too_little_time() const {
    const double largest = seconds_from(plans_.size() - 1, question_.growth);
    return usage_error("--within: two seeds do not fit; " +
                       (largest > 0 ? "a training of the largest size takes " + about(largest)
                                    : std::string("the time was over before the first training")))
        .hint("more time, or a shorter training: --set epochs=N");
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
  const bool may_end_early_;  // whether a stop rule or a step of the recipe's own may end a training before its length
  SeededResults results_;
  std::vector<FitPlan> plans_;  // of the present seed, by size
  // By size: seconds of a step in its latest training, as known by now, with a share of the validations; 0: unknown. Of
  // trainings whose length is a time: the seconds of the training.
  std::vector<double> per_step_;
  std::size_t told_ = 0;  // sizes whose length was told, or whose training has ended
  std::string latest_;    // the values of the latest seed, as text
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
  return text + "  took     " + rounded_seconds(found.seconds) + "\n";
}

Value to_value(const SeededFindings& found) {
  return Value::Map{{"metric", found.metric},
                    {"goal", found.minimize ? "min" : "max"},
                    {"seeds", static_cast<std::int64_t>(found.seeds)},
                    {"failed", found.failed},
                    {"seconds", found.seconds}};
}

}  // namespace trainlab

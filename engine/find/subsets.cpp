#include "find/subsets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/clock.h"
#include "core/random/stream.h"
#include "core/words.h"
#include "train/fit.h"

namespace trainlab {
namespace {

constexpr std::array shares = {0.125, 0.25, 0.5, 1.0};
constexpr std::size_t fewest_sizes = 3;
constexpr int fewest_seeds = 2, usual_seeds = 3, most_seeds = 10;

bool samples_overlap(const Dataset& data) {
  return std::ranges::any_of(data.columns, [](const Column& column) {
    if (!column.values.defined() || column.values.size(0) < 2) return false;
    return column.values.stride(0) < column.values.numel() / column.values.size(0);
  });
}

Options with_seed(const Registry& registry, const Spec& fit, std::int64_t seed) {
  auto spec = std::make_shared<Spec>(fit);
  spec->value.set("seed", seed);
  spec->value = registry.check(spec->value);
  return Options(registry, std::move(spec), "");
}

void check_plan_of(const FitPlan& plan) {
  if (plan.monitor.starts_with("train.")) {
    throw plan.options
        .error("monitor",
               "expected a metric of a validation part, found " + plan.monitor + ", which more data do not improve")
        .hint("data:split { train = 0.9, val = 0.1 }");
  }
  const Part& train = plan.data.train;
  if (train.draws && !train.draws->cumulative.empty()) {
    throw plan.options.error("data", "expected samples that are drawn alike, found samples that are drawn by weight")
        .hint("leave :weighted, or the share of :append, out for the plan");
  }
}

// The shares that have the samples of a step.
std::vector<double> shares_for(const FitPlan& plan) {
  const std::int64_t n = std::min(plan.data.train.size(), plan.data.train.epoch_size()), step = plan.length.batch;
  std::vector<double> enough;
  for (const double share : shares) {
    if (std::llround(share * static_cast<double>(n)) >= step) enough.push_back(share);
  }
  if (enough.size() >= fewest_sizes) return enough;
  throw plan.options
      .error("data", "expected at least " + std::to_string(4 * step) +
                         " training samples, so that a quarter of them fills a step of " + std::to_string(step) +
                         ", found " + std::to_string(n))
      .hint("a smaller batch, as by --set batch=16");
}

// The steps of the fit, with which its time grows; 1 where a time ends it.
double steps_of(const FitPlan& plan) {
  return plan.length.total_steps > 0 ? static_cast<double>(plan.length.total_steps) : 1;
}

class SubsetTrainings {
 public:
  SubsetTrainings(const Registry& registry, const Spec& fit, const RunSettings& settings, const SearchContext& context)
      : registry_(registry),
        fit_(fit),
        settings_(settings),
        context_(context),
        whole_(plan_fit(with_seed(registry, fit, settings.seed), settings, context.opened)) {
    check_plan_of(whole_);
    settings_.chosen = whole_.chosen;
    found_.metric = whole_.monitor;
    found_.minimize = whole_.minimize(whole_.monitor);
    shares_ = shares_for(whole_);
    for (const double share : shares_) {
      const Part part = share_of(whole_.data.train, share, Key(0));
      found_.sizes.push_back({.samples = static_cast<double>(part.size()), .values = {}});
    }
  }

  FoundSubsets train() {
    const double begun = steady_seconds();
    const int count = context_.seconds_left ? most_seeds : usual_seeds;
    for (int number = 0; number < count; ++number) {
      const std::vector<FitPlan> plans = plans_for(settings_.seed + number);
      double steps = 0;
      for (const FitPlan& plan : plans) steps += steps_of(plan);
      if (number >= fewest_seeds && is_too_long(steps)) break;
      const double now = steady_seconds();
      add(train_seed(plans, number));
      context_.tell(
          fmt::format("seed {} of at most {}: {}, {:.3g} s", number + 1, count, latest_, steady_seconds() - now));
    }
    if (found_.sizes.front().values.size() < static_cast<std::size_t>(fewest_seeds)) {
      throw run_error("expected at least two seeds with a finite " + found_.metric + " for all sizes, found " +
                      std::to_string(found_.sizes.front().values.size()) + ", and " + std::to_string(found_.failed) +
                      " failed");
    }
    found_.curve = data_curve(found_.sizes, found_.minimize);
    found_.seconds = steady_seconds() - begun;
    return std::move(found_);
  }

 private:
  std::vector<FitPlan> plans_for(std::int64_t seed) const {
    const Options options = with_seed(registry_, fit_, seed);
    std::vector<FitPlan> plans;
    for (const double share : shares_) {
      DataParts parts = whole_.data;
      parts.train = share_of(whole_.data.train, share, Key(static_cast<std::uint64_t>(seed)));
      parts.test.reset();  // nobody reads what would be measured on it
      plans.push_back(plan_fit(options, settings_, &parts));
    }
    return plans;
  }

  // Whether as many steps would probably end too late.
  bool is_too_long(double steps) const { return context_.seconds_left && per_step_ * steps > context_.seconds_left(); }

  // A value for each size.
  std::vector<double> train_seed(const std::vector<FitPlan>& plans, int number) {
    std::vector<double> values;
    double steps = 0;  // that are needed for the fewest seeds
    for (const FitPlan& plan : plans) steps += steps_of(plan) * std::max(fewest_seeds - number, 0);
    for (const FitPlan& plan : plans) {
      if (is_too_long(steps)) {
        throw usage_error(fmt::format("--within: two seeds do not fit; a training with all data takes about {:.3g} s",
                                      per_step_ * steps_of(plans.back())))
            .hint("more time, or a shorter training: --set epochs=N");
      }
      const double begun = steady_seconds();
      values.push_back(value_of(plan));
      per_step_ = (steady_seconds() - begun) / steps_of(plan);
      steps = std::max(steps - steps_of(plan), 0.0);
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
    const Value& value = summary["metrics"][found_.metric];
    return value.is_number() && summary["status"] != Value("failed") ? value.number() : std::nan("");
  }

  void add(const std::vector<double>& values) {
    latest_ = found_.metric + " " + joined(values, ", ", [](double one) { return fmt::format("{:.4g}", one); });
    if (!std::ranges::all_of(values, [](double one) { return std::isfinite(one); })) {
      ++found_.failed;
      return;
    }
    for (std::size_t i = 0; i < values.size(); ++i) found_.sizes[i].values.push_back(values[i]);
  }

  const Registry& registry_;
  const Spec& fit_;
  RunSettings settings_;
  const SearchContext& context_;
  const FitPlan whole_;
  std::vector<double> shares_;
  FoundSubsets found_;
  double per_step_ = 0;  // seconds of a step in the latest training; 0: none has ended
  std::string latest_;   // the values of the latest seed, as text
};

}  // namespace

Part share_of(const Part& train, double share, Key key) {
  if (share >= 1) return train;
  const std::int64_t size = train.size();
  std::vector<std::int64_t> rows(static_cast<std::size_t>(std::llround(share * static_cast<double>(size))));
  const std::vector<std::int64_t> order =
      samples_overlap(*train.data) ? std::vector<std::int64_t>() : permutation(key.fold("subsets"), size);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = train.row(order.empty() ? static_cast<std::int64_t>(i) : order[i]);
  }
  Part part = train;
  part.rows = std::make_shared<const std::vector<std::int64_t>>(std::move(rows));
  if (train.draws) {
    const auto count = std::llround(share * static_cast<double>(train.draws->count));
    part.draws = std::make_shared<const Draws>(Draws{.count = std::max<std::int64_t>(count, 1), .cumulative = {}});
  }
  return part;
}

FoundSubsets train_on_subsets(const Registry& registry, const Spec& fit, const RunSettings& settings,
                              const SearchContext& context) {
  return SubsetTrainings(registry, fit, settings, context).train();
}

}  // namespace trainlab

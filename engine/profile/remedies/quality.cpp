// The price of remedies that change the result: trainings of the same time with and without each.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "profile/remedies.h"
#include "tensor/types.h"
#include "variant.h"

namespace trainlab {

namespace {

constexpr int quality_pairs = 5;    // the fewest with which an effect of two standard deviations is mostly found
constexpr double least_length = 1;  // seconds; a shorter fit trains for this long all the same

// The seconds of one training.
double training_seconds(const FitPlan& plan, const Profile& profile, double seconds) {
  double own = std::numeric_limits<double>::infinity();
  if (plan.length.total_steps > 0) own = static_cast<double>(plan.length.total_steps) * profile.wall();
  if (plan.time_budget > 0) own = std::min(own, plan.time_budget);
  return std::min(seconds / (2 * quality_pairs), std::max(own, least_length));
}

// Trains fits for the same time, and judges them by a metric of the validation part.
class EqualTimes {
 public:
  EqualTimes(const Variant& base, const WithSet& with_set, RemedyQuality asked,
             const std::function<void(const std::string&)>& say)
      : base_(base),
        with_set_(with_set),
        asked_(std::move(asked)),
        target_{.metric = asked_.metric, .value = std::nan(""), .minimize = asked_.minimize},
        say_(say) {}

  RemedyQuality judge(const Remedy& remedy) const {
    std::vector<compare::Pair> trained;
    for (std::int64_t seed = 1; seed <= quality_pairs; ++seed) {
      say_("quality with " + words_of(remedy.set) + ": pair " + std::to_string(seed) + " of " +
           std::to_string(quality_pairs));
      trained.push_back(pair(remedy, seed));
    }
    RemedyQuality quality = asked_;
    quality.judgement = compare::judge(trained, target_, std::nullopt, compare::Looks::fixed(quality_pairs));
    quality.without = mean(trained, &compare::Pair::a);
    quality.with = mean(trained, &compare::Pair::b);
    return quality;
  }

 private:
  // In alternating order, so that a machine that slows down favours neither side.
  compare::Pair pair(const Remedy& remedy, std::int64_t seed) const {
    compare::Pair pair{.seed = seed};
    const std::vector<std::string> own{"seed=" + std::to_string(seed)};
    std::vector<std::string> changed = own;
    changed.insert(changed.end(), remedy.set.begin(), remedy.set.end());
    if (seed % 2 == 1) pair.a = train(own);
    pair.b = train(changed);
    if (seed % 2 == 0) pair.a = train(own);
    return pair;
  }

  compare::Training train(const std::vector<std::string>& changes) const {
    Variant one = with_changes(changes, base_, with_set_);
    one.plan.length.total_steps = 0;  // bounded by time alone
    one.plan.time_budget = asked_.seconds;
    one.plan.data.test.reset();
    prepare_arithmetic(one.settings.threads);
    const OwnBudget budget(one);
    const ScratchFolder folder;
    const Value summary = run_fit_in(folder, one.plan, {.stage = one.stage, .settings = one.settings, .say = say_});
    compare::Training training{.seconds = summary["seconds"].number(),
                               .best = std::nan(""),
                               .has_failed = summary["status"] == Value("failed")};
    if (const Value& value = summary["metrics"][asked_.metric]; value.is_number()) training.value = value.number();
    return training;
  }

  static double mean(const std::vector<compare::Pair>& trained, compare::Training compare::Pair::*side) {
    double sum = 0;
    int count = 0;
    for (const compare::Pair& pair : trained) {
      const std::optional<double>& value = (pair.*side).value;
      if (!value) continue;
      sum += *value;
      ++count;
    }
    return count > 0 ? sum / count : std::nan("");
  }

  const Variant& base_;
  const WithSet& with_set_;
  RemedyQuality asked_;
  compare::Target target_;
  const std::function<void(const std::string&)>& say_;
};

}  // namespace

std::string quality_metric(const FitPlan& plan) {
  if (plan.data.val && plan.measures()) return plan.monitor.starts_with("val.") ? plan.monitor : "val.loss";
  const std::string name = "\"" + plan.options.string("name") + "\"";
  if (plan.data.val) {
    throw usage_error("--quality: expected a fit whose validation part is measured, found " + name +
                      ", which has no loss")
        .hint("loss = \"cross_entropy\" beside `step`");
  }
  throw usage_error("--quality: expected a fit with a validation part, found " + name + ", which has none")
      .hint("data:split { train = 0.9, val = 0.1 }");
}

void judge_remedies(TriedRemedies& tried, const Profile& profile, const Options& stage, const RunSettings& settings,
                    const WithSet& with_set, double seconds, const std::function<void(const std::string&)>& say) {
  const auto is_asked = [](const Remedy& one) { return one.changes_result() && !one.set.empty(); };
  if (std::ranges::none_of(tried.all, is_asked)) {
    throw run_error("no change that changes the result was tried" +
                    (tried.enough_seconds
                         ? fmt::format(", and for some changes no time was left (--seconds {:.0f} tries all)",
                                       *tried.enough_seconds)
                         : ""));
  }
  with_torch_errors([&] {
    const Variant base = variant_of(stage, settings, profile.shared_data());
    const std::string metric = quality_metric(base.plan);
    const RemedyQuality asked{.metric = metric,
                              .minimize = base.plan.minimize(metric),
                              .seconds = training_seconds(base.plan, profile, seconds)};
    const EqualTimes trainings(base, with_set, asked, say);
    for (Remedy& remedy : tried.all) {
      if (!is_asked(remedy)) continue;
      try {
        remedy.quality = with_torch_errors([&] { return trainings.judge(remedy); });
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::interrupted) throw;
        remedy.quality = asked;
        remedy.quality->reason = error.headline();
      }
    }
    prepare_arithmetic(settings.threads);
  });
}

}  // namespace trainlab

#include "plan/sweep_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/statistics.h"
#include "study/constraints.h"
#include "study/no_improvement.h"
#include "study/sampler.h"

namespace trainlab {

namespace {

constexpr std::int64_t no_limit = StudyTerms::no_limit;
// The share of a sweep's time that fresh seeds of its best trials have. In simulated searches of 30, 100 and 300 runs,
// two thirds for the search and one third for fresh seeds found the best configurations.
constexpr double share_of_confirmation = 1.0 / 3;

double median_of_repeats(const std::vector<double>& values) {
  return std::ranges::any_of(values, [](double x) { return std::isnan(x); }) ? std::nan("") : median(values);
}

// The total of the recipe, unless `trainlab extend` gave a greater one.
std::int64_t most_trials(const Options& sweep, const RunSettings& settings) {
  std::int64_t trials = sweep.given("trials") ? sweep.integer("trials") : no_limit;
  if (settings.extends_now && !settings.extended.back().is_time()) {
    const NewTotal& wanted = settings.extended.back();
    if (sweep.given("time") && !sweep.given("trials")) {
      throw usage_error("expected a sweep that is bounded by its trials, found one with a budget of time alone")
          .hint("trainlab extend RUN --time TIME");
    }
    if (trials < no_limit && static_cast<std::int64_t>(wanted.count) <= trials)
      throw wanted.no_more_than(count_text(static_cast<double>(trials)) + " trials");
  }
  for (const NewTotal& total : settings.extended) {
    if (!total.is_time()) trials = static_cast<std::int64_t>(total.count);
  }
  return trials;
}

std::optional<SweepPlan::Confirm> confirm_of(const Options& sweep) {
  if (!sweep.given("confirm")) return std::nullopt;
  const Options confirm = sweep.child("confirm");
  return SweepPlan::Confirm{.top = confirm.integer("top"), .seeds = confirm.integer("seeds")};
}

bool ends_without_improvement(const Options& sweep) {
  if (!sweep.given("improvement")) return false;
  return sweep.get("improvement").is_number() || sweep.boolean("improvement");
}

StudyTerms terms_of_sweep(const Options& sweep, const RunSettings& settings) {
  StudyTerms terms{.space = make_space(sweep),
                   .seed = sweep.given("seed") ? sweep.integer("seed") : settings.seed,
                   .trials_name = "trials",
                   .trials = most_trials(sweep, settings),
                   .repeats = sweep.integer("seeds"),
                   .is_deterministic = sweep.boolean("deterministic"),
                   .reuses_duplicates = sweep.string("duplicates") == "reuse",
                   .ends_without_improvement = ends_without_improvement(sweep)};
  terms.enqueued = enqueued_points(sweep, terms.space);
  if (sweep.string("aggregate") != "mean") terms.aggregate = median_of_repeats;
  if (const auto confirm = confirm_of(sweep)) {
    terms.share_at_end = share_of_confirmation;
    terms.share_of_time = 1 - share_of_confirmation;
    terms.trainings_at_end = std::min(confirm->top, terms.trials) * confirm->seeds;
  }
  return terms;
}

}  // namespace

SweepPlan::SweepPlan(const Options& stage, const RunSettings& settings, TrialAddition addition)
    : StudyPlan(stage, settings, terms_of_sweep(stage, settings), std::move(addition)) {
  check_bounds();
  pruner();
  if (const auto given = std::ssize(terms().enqueued); given > terms().trials) {
    throw stage.error("trials", "expected at least the " + std::to_string(given) + " points of enqueue, found " +
                                    std::to_string(terms().trials));
  }
  check_scheduler();
  find_directions();
  check_confirm();
}

std::optional<SweepPlan::Confirm> SweepPlan::confirms() const { return confirm_of(options()); }

void SweepPlan::check_confirm() const {
  const std::optional<Confirm> confirm = confirms();
  if (!confirm) return;
  if (objectives().size() > 1)
    throw options().error("confirm", "names one winner by fresh seeds; it goes with one metric, found several");
  if (options().given("scheduler") && options().child("scheduler").entry().name == "scheduler.pbt") {
    throw options().error("confirm",
                          "scheduler.pbt changes parameters while a model trains, and a training on a fresh seed has "
                          "the same parameters from beginning to end; it goes without confirm");
  }
  if (options().child("confirm").given("top") && confirm->top > terms().trials) {
    throw options().child("confirm").error("top", "expected at most the " + std::to_string(terms().trials) +
                                                      " trials, found " + std::to_string(confirm->top));
  }
  if (example().given("seed") && example().integer("seed") != repeat_seed(1)) {
    throw example().error("seed",
                          "expected none, or seed = hp.seed, where the sweep confirms its best trials on fresh seeds; "
                          "found " +
                              std::to_string(example().integer("seed")));
  }
}

void SweepPlan::check_bounds() const {
  if (!options().given("trials") && !options().given("time")) {
    const bool ends = terms().space.size() > 0 && sampler_ends(options().child("sampler"));
    if (!ends)
      throw options().error("trials", "expected a number of trials or a time, found neither").hint("trials = 64");
  }
  if (terms().ends_without_improvement && options().get("metric").list().size() > 1)
    throw options().error("improvement", "goes with one metric, found several");
  if (terms().space.size() == 0) throw options().error("space", "expected at least one parameter, found none");
}

// A scheduler continues one fit of each configuration.
void SweepPlan::check_scheduler() const {
  if (!options().given("scheduler")) return;
  const std::string& name = options().child("scheduler").entry().name;
  if (terms().repeats > 1)
    throw options().error("seeds", "expected 1 with " + name + ", found " + std::to_string(terms().repeats));
  if (options().given("pruner")) {
    throw options().error("pruner", name + " itself ends bad configurations; it goes without a pruner");
  }
  if (terms().ends_without_improvement) {
    throw options().error("improvement", "trials of " + name + " end after different numbers of validations, so that " +
                                             "their values are not compared; it goes without improvement");
  }
  if (options().string("duplicates") != "allow") {
    throw options().error("duplicates",
                          "trials of " + name + " keep the parameters of their parents; expected \"allow\"");
  }
}

void SweepPlan::check_tasks() const {
  StudyPlan::check_tasks();
  if (!options().given("scheduler")) return;
  const std::string& name = options().child("scheduler").entry().name;
  throw options()
      .error("scheduler", name + " ends and continues fits after their validations; it does not go with tasks")
      .hint("a pruner ends tasks early: pruner = lab.pruner.asha { … }");
}

// The fit is as long as the longest chain of segments, given points are those of configurations that begin, and the
// sampler has a point for each configuration.
void SweepPlan::check_example(const FitPlan& fit, const Study& study) const {
  check_stack(fit);
  for (const char* judge : {"pruner", "scheduler"}) {
    if (!options().given(judge) || std::ranges::none_of(objectives(), is_of_test)) continue;
    throw options()
        .error(judge,
               options().child(judge).entry().name +
                   " judges trials by their validations; a metric of the test part is measured at their end only")
        .hint("metric = \"val.loss\", or another one of the validation part");
  }
  const Scheduler* scheduler = study.scheduler();
  if (!scheduler) return;
  const std::string& name = options().child("scheduler").entry().name;
  if (const auto given = std::ssize(terms().enqueued); given > scheduler->most_given()) {
    throw options().error("enqueue", "expected at most the " + std::to_string(scheduler->most_given()) +
                                         " configurations with which " + name + " begins, found " +
                                         std::to_string(given) + " points");
  }
  if (terms().trials < no_limit) {
    const std::int64_t begin = scheduler->beginnings(terms().trials);
    if (study.points().value_or(begin) < begin) {
      throw options().error("sampler", "expected points for the " + std::to_string(begin) + " configurations of " +
                                           name + ", found " + std::to_string(*study.points()));
    }
  }
  if (fit.length.total_steps == 0) return;
  const std::int64_t has = delivery().validations;
  const std::int64_t needs = scheduler->longest(terms().trials);
  if (needs <= has) return;
  if (needs == no_limit) {
    throw options()
        .error("trials",
               "expected a number of trials with " + name + ", which trains on until they are used, found none")
        .hint("the fit that build returns has " + std::to_string(has) + " validations");
  }
  throw options()
      .error("scheduler", "its trials train for up to " + std::to_string(needs) +
                              " validations, the fit that build returns has " + std::to_string(has))
      .hint("give the fit more epochs, validate it more often, or have fewer trials");
}

void SweepPlan::settle(StudySettings& settings) const {
  settings.deterministic = terms().is_deterministic;
  settings.distinct = options().string("duplicates") == "resample";
  if (terms().ends_without_improvement) {
    const std::optional<double> least =
        options().get("improvement").is_number() ? std::optional(options().number("improvement")) : std::nullopt;
    settings.over = [rule = std::make_shared<NoImprovement>(terms().space, least),
                     maximize = objectives().front().maximize](const Trials& trials, std::int64_t visible) {
      return rule->judge(trials, maximize, visible).ends;
    };
  }
  if (options().given("scheduler"))
    settings.scheduler =
        make_scheduler(options().child("scheduler"), terms().space, terms().seed, objectives().size(), delivery());
  if (options().given("constraints")) settings.allowed = allowed_by(options(), terms().space, terms().seed);
}

std::unique_ptr<Sampler> SweepPlan::sampler() const {
  return make_sampler(options().child("sampler"), terms().space, terms().seed, objectives().size());
}

std::unique_ptr<Pruner> SweepPlan::pruner() const {
  if (!options().given("pruner")) return nullptr;
  return make_pruner(options().child("pruner"), objectives().size(), delivery());
}

Value SweepPlan::description(const Study& study) const {
  Value description = StudyPlan::description(study);
  for (const char* option : {"sampler", "scheduler", "pruner", "confirm"}) {
    if (options().has(option)) description.set(option, options().registry().print(options().child(option).value()));
  }
  description.set("aggregate", options().string("aggregate"));
  return description;
}

std::int64_t SweepPlan::most_failures() const {
  return options().given("max_failures") ? options().integer("max_failures") : no_limit;
}

std::string SweepPlan::failure(const Failures& failures) const {
  return fmt::format("more than max_failures = {}: {}", most_failures(), text_of(failures));
}

// Where the recipe leaves the choice.
std::string SweepPlan::first_rung_text() const {
  const Options scheduler = options().child("scheduler");
  if (!scheduler.entry().find("min") || scheduler.given("min")) return "";
  const char* const weights = delivery().weights == Delivery::Weights::best   ? "the best weights"
                              : delivery().weights == Delivery::Weights::last ? "the last weights"
                                                                              : "weights by another value";
  return fmt::format("{:<14} ends after validation {}, because the fit keeps {}\n", "first rung",
                     study().scheduler()->longest(1), weights);
}

std::string SweepPlan::text() const {
  const Registry& registry = options().registry();
  std::string text = terms().trials < no_limit ? fmt::format("{} trials", terms().trials)
                                               : "trials until the time is used or the space used up";
  if (terms().repeats > 1) text += fmt::format(" of {} seeds each", terms().repeats);
  text += "\n";
  for (const SpaceParameter& p : terms().space.parameters())
    text += fmt::format("  {:<12} {}\n", p.name, registry.print(options().get("space")[p.name]));
  for (const char* option : {"sampler", "scheduler", "pruner"}) {
    if (options().has(option))
      text += fmt::format("{:<14} {}\n", option, registry.print(options().child(option).value()));
  }
  if (options().given("scheduler")) text += first_rung_text();
  if (const std::optional<Confirm> confirm = confirms())
    text += fmt::format("{:<14} the best {} trials again, each on {} fresh seeds\n", "confirm", confirm->top,
                        confirm->seeds);
  return text;
}

Options SweepPlan::build(std::span<const double> point, std::int64_t trial, std::int64_t repeat) const {
  return build_with(terms().space.params(point), trial, repeat);
}

}  // namespace trainlab

#include "sweep_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "study/constraints.h"
#include "study/no_improvement.h"
#include "study/sampler.h"

namespace trainlab {

namespace {

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

}  // namespace

SweepPlan::SweepPlan(const Options& stage, const RunSettings& settings)
    : StudyPlan(stage, settings, make_space(stage), stage.given("seed") ? stage.integer("seed") : settings.seed) {
  check_bounds();
  if (settings.extends_now && !settings.extended.back().is_time()) check_extension(settings.extended.back());
  for (const NewTotal& total : settings.extended) {
    if (!total.is_time()) extended_trials_ = static_cast<std::int64_t>(total.count);
  }
  pruner();
  if (const auto given = static_cast<std::int64_t>(enqueued().size()); given > trials()) {
    throw stage.error("trials", "expected at least the " + std::to_string(given) + " points of enqueue, found " +
                                    std::to_string(trials()));
  }
  check_scheduler();
  find_directions();
}

void SweepPlan::check_bounds() const {
  if (!options().given("trials") && !options().given("time")) {
    const bool ends = space().size() > 0 && sampler_ends(options().child("sampler"));
    if (!ends)
      throw options().error("trials", "expected a number of trials or a time, found neither").hint("trials = 64");
  }
  if (ends_without_improvement() && options().get("metric").list().size() > 1)
    throw options().error("improvement", "goes with one metric, found several");
  if (space().size() == 0) throw options().error("space", "expected at least one parameter, found none");
}

// Before the plan knows of any extension: what the recipe says.
void SweepPlan::check_extension(const NewTotal& wanted) const {
  if (options().given("time") && !options().given("trials")) {
    throw usage_error("expected a sweep that is bounded by its trials, found one with a budget of time alone")
        .hint("trainlab extend RUN --time TIME");
  }
  if (options().given("trials") && static_cast<std::int64_t>(wanted.count) <= trials())
    throw wanted.no_more_than(count_text(static_cast<double>(trials())) + " trials");
}

// A scheduler continues one fit of each configuration.
void SweepPlan::check_scheduler() const {
  if (!options().given("scheduler")) return;
  const std::string& name = options().child("scheduler").entry().name;
  if (repeats() > 1) throw options().error("seeds", "expected 1 with " + name + ", found " + std::to_string(repeats()));
  if (options().given("pruner")) {
    throw options().error("pruner", name + " itself ends bad configurations; it goes without a pruner");
  }
  if (ends_without_improvement()) {
    throw options().error("improvement", "trials of " + name + " end after different numbers of validations, so that " +
                                             "their values are not compared; it goes without improvement");
  }
  if (options().string("duplicates") != "allow") {
    throw options().error("duplicates",
                          "trials of " + name + " keep the parameters of their parents; expected \"allow\"");
  }
}

std::int64_t SweepPlan::trials() const {
  if (extended_trials_) return *extended_trials_;
  return options().given("trials") ? options().integer("trials") : no_limit;
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
  const Scheduler* scheduler = study.scheduler();
  if (!scheduler) return;
  const std::string& name = options().child("scheduler").entry().name;
  if (const auto given = static_cast<std::int64_t>(enqueued().size()); given > scheduler->most_given()) {
    throw options().error("enqueue", "expected at most the " + std::to_string(scheduler->most_given()) +
                                         " configurations with which " + name + " begins, found " +
                                         std::to_string(given) + " points");
  }
  if (trials() < no_limit) {
    const std::int64_t begin = scheduler->beginnings(trials());
    if (study.points().value_or(begin) < begin) {
      throw options().error("sampler", "expected points for the " + std::to_string(begin) + " configurations of " +
                                           name + ", found " + std::to_string(*study.points()));
    }
  }
  if (fit.length.total_steps == 0) return;
  const std::int64_t has = (fit.length.total_steps + fit.validate_every - 1) / fit.validate_every;
  const std::int64_t needs = scheduler->longest(trials());
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
  settings.deterministic = deterministic();
  settings.distinct = options().string("duplicates") == "resample";
  if (ends_without_improvement()) {
    const std::optional<double> least =
        options().get("improvement").is_number() ? std::optional(options().number("improvement")) : std::nullopt;
    settings.over = [rule = std::make_shared<NoImprovement>(space(), least), maximize = objectives().front().maximize](
                        const Trials& trials, std::int64_t visible) {
      return rule->judge(trials, maximize, visible).ends;
    };
  }
  if (options().given("scheduler"))
    settings.scheduler = make_scheduler(options().child("scheduler"), space(), seed(), objectives().size());
  if (options().given("constraints")) settings.allowed = allowed_by(options(), space(), seed());
}

std::unique_ptr<Sampler> SweepPlan::sampler() const {
  return make_sampler(options().child("sampler"), space(), seed(), objectives().size());
}

bool SweepPlan::ends_without_improvement() const {
  if (!options().given("improvement")) return false;
  return options().get("improvement").is_number() || options().boolean("improvement");
}

std::unique_ptr<Pruner> SweepPlan::pruner() const {
  if (!options().given("pruner")) return nullptr;
  return make_pruner(options().child("pruner"), objectives().size());
}

std::vector<std::vector<double>> SweepPlan::enqueued() const {
  std::vector<std::vector<double>> points;
  if (!options().given("enqueue")) return points;
  const Value::List& given = options().get("enqueue").list();
  for (std::size_t i = 0; i < given.size(); ++i) {
    try {
      points.push_back(space().point_of(given[i]));
    } catch (const Error& error) {
      throw options().error("enqueue", "of point " + std::to_string(i + 1) + ", " +
                                           (error.path().empty() ? "" : error.path() + ": ") + error.message());
    }
  }
  return points;
}

Value SweepPlan::description(const Study& study) const {
  Value description = StudyPlan::description(study);
  for (const char* option : {"sampler", "scheduler", "pruner"}) {
    if (options().has(option)) description.set(option, options().registry().print(options().child(option).value()));
  }
  description.set("aggregate", options().string("aggregate"));
  return description;
}

double SweepPlan::aggregate(const std::vector<double>& values) const {
  if (values.empty() || options().string("aggregate") == "mean") return StudyPlan::aggregate(values);
  if (std::ranges::any_of(values, [](double x) { return std::isnan(x); })) return std::nan("");
  std::vector<double> sorted = values;
  std::ranges::sort(sorted);
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

std::optional<std::string> SweepPlan::failure(std::int64_t failed, std::int64_t last, const std::string& reason) const {
  if (!options().given("max_failures") || failed <= options().integer("max_failures")) return std::nullopt;
  return fmt::format("{} trials failed, more than max_failures = {}; the last one, trial {}: {}", failed,
                     options().integer("max_failures"), last, reason);
}

std::string SweepPlan::text() const {
  const Registry& registry = options().registry();
  std::string text =
      trials() < no_limit ? fmt::format("{} trials", trials()) : "trials until the time is used or the space used up";
  if (repeats() > 1) text += fmt::format(" of {} seeds each", repeats());
  text += "\n";
  for (const SpaceParameter& p : space().parameters())
    text += fmt::format("  {:<12} {}\n", p.name, registry.print(options().get("space")[p.name]));
  for (const char* option : {"sampler", "scheduler", "pruner"}) {
    if (options().has(option))
      text += fmt::format("{:<14} {}\n", option, registry.print(options().child(option).value()));
  }
  return text;
}

Options SweepPlan::build(std::span<const double> point, std::int64_t trial, std::int64_t repeat) const {
  return build_with(space().params(point), trial, repeat);
}

}  // namespace trainlab

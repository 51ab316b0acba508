#include "plan/study_plan.h"

#include <algorithm>
#include <cmath>

#include "core/duration.h"
#include "core/params.h"
#include "core/random/stream.h"
#include "core/time_in_seconds.h"
#include "objective/metric.h"
#include "study/database.h"
#include "train/model_file.h"
#include "train/stacking.h"

namespace trainlab {

namespace {

// How many trials are built at most to find one valid fit (its metrics give the directions).
constexpr std::int64_t probes = 4;

// Whether smaller values of what a task logs are better, where its name tells: "val.loss", "val.accuracy".
std::optional<bool> known_direction(const Registry& registry, const std::string& name) {
  const std::string last = name.substr(name.rfind('.') + 1);
  if (last == "loss") return true;
  const Entry* metric = registry.find("metric." + last);
  if (!metric) return std::nullopt;
  return registry.implementation<MetricKind>(*metric).minimize;
}

// Makes the settings of a stage those of its fits.
void settle_for_fits(RunSettings& settings) {
  settings.quiet = true;
  settings.extended.clear();
  settings.extends_now = false;
}

}  // namespace

std::vector<std::string> strings(const Options& stage, const char* option) {
  std::vector<std::string> all;
  if (!stage.has(option)) return all;
  for (const Value& one : stage.get(option).list()) all.push_back(one.string());
  return all;
}

const DataParts* OpenedData::open(const Options& fit, const RunSettings& settings) {
  const Options spec = fit.child("data");
  if (holds_function(spec.value())) return nullptr;
  const std::string key = to_json(without_places(spec));
  const auto known = opened_.find(key);
  if (known != opened_.end()) return &known->second;
  return &opened_.emplace(key, open_data(spec, {.seed = settings.seed})).first->second;
}

bool is_of_trial(const Error& error) {
  return error.kind() == ErrorKind::recipe || (error.kind() == ErrorKind::run && error.lacks_memory());
}

double mean_of_repeats(const std::vector<double>& values) {
  if (values.empty()) return std::nan("");
  double sum = 0;
  for (const double x : values) sum += x;
  return sum / static_cast<double>(values.size());
}

StudyPlan::StudyPlan(const Options& stage, const RunSettings& settings, StudyTerms terms, TrialAddition addition)
    : options_(stage),
      settings_(settings),
      extension_(settings.extends_now ? settings.extended.back().text() : ""),
      workers_(settings.workers.value_or(static_cast<int>(stage.integer("workers")))),
      terms_(std::move(terms)),
      addition_(std::move(addition)),
      build_(stage.function("build")) {
  settle_for_fits(settings_);
  storage_of(options_);  // a wrong URL is told before anything begins
  plan_time_budget(settings);
  plan_objectives();
}

StudyPlan::StudyPlan(const StudyPlan& other, StudyTerms terms)
    : options_(other.options_),
      settings_(other.settings_),
      workers_(other.workers_),
      time_budget_(other.time_budget_),
      terms_(std::move(terms)),
      addition_(other.addition_),
      objectives_(other.objectives_),
      example_(other.example_),
      delivery_(other.delivery_),
      build_(other.build_),
      data_(other.data_) {}

// The option `time`, or the total that `trainlab extend` gave.
void StudyPlan::plan_time_budget(const RunSettings& settings) {
  const bool extends_time = settings.extends_now && settings.extended.back().is_time();
  if (!options_.given("time")) {
    if (!extends_time) return;
    const std::string& kind = options_.entry().name;
    throw usage_error("expected a stage with a budget of time, found a lab." + kind + " without")
        .hint(kind == "sweep" ? "--trials N gives a sweep more trials" : "only its recipe knows its number of members");
  }
  time_budget_ = time_in_seconds(options_, "time");
  if (extends_time && settings.extended.back().count <= time_budget_)
    throw settings.extended.back().no_more_than(to_text(options_.duration("time")));
  for (const NewTotal& total : settings.extended) {
    if (total.is_time()) time_budget_ = total.count;
  }
}

void StudyPlan::plan_objectives() {
  const std::vector<std::string> metrics = strings(options_, "metric"), goals = strings(options_, "goal");
  if (options_.given("goal") && goals.size() != metrics.size()) {
    throw options_.error("goal", "expected one for each of the " + std::to_string(metrics.size()) + " metrics, found " +
                                     std::to_string(goals.size()));
  }
  for (const std::string& metric : metrics) {
    if (std::ranges::count(metrics, metric) > 1) throw options_.error("metric", "found \"" + metric + "\" twice");
    objectives_.push_back({.metric = metric});
  }
}

// Which direction is better is known to the metrics of a fit: some trials are built and planned, until one is right.
void StudyPlan::find_directions() {
  Study study = this->study();
  std::optional<Error> first;
  for (std::int64_t probe = 0; probe < probes; ++probe) {
    const Study::Asked asked = study.ask();
    if (!asked.trial) break;
    std::optional<FitPlan> plan;
    example_.reset();
    try {
      const std::span<const double> point = study.trials().point(*asked.trial);
      example_trial_ = *asked.trial;
      example_point_.assign(point.begin(), point.end());
      example_ = build(point, example_trial_, 1);
      if (!runs_tasks()) plan.emplace(plan_fit(*example_));
    } catch (const Error& error) {
      if (!is_of_trial(error)) throw;
      if (!first) first = error;
      continue;
    }
    if (!plan) {
      check_tasks();
      return set_directions_of_tasks();
    }
    set_directions(*plan);
    set_delivery(*plan);
    try {
      check_example(*plan, this->study());
    } catch (const Error& error) {
      // The recipe was right for the total so far: a run that refuses its extension stays as it was.
      if (error.kind() != ErrorKind::recipe || !extends()) throw;
      throw usage_error("cannot be extended to " + extension_ + ": " + error.headline()).hint(error.hint());
    }
    return;
  }
  if (first) throw *first;
  throw options_.error("space", "has no point that can be tried");
}

void StudyPlan::check_tasks() const {
  if (settings_.counts_flops) {
    throw options_.error("build", "nobody knows the FLOPs of a task, and lab.budget has flops")
        .hint("lab.budget { time = \"2 h\" }");
  }
  if (!demands_stack()) return;
  throw options_.error("build", "tasks run one at a time, found stack = " + options_.get("stack").brief());
}

// The better direction of an objective, which its declaration and the option `goal` give.
void StudyPlan::set_direction(std::size_t objective, std::optional<bool> minimize) {
  const std::vector<std::string> goals = strings(options_, "goal");
  Objective& one = objectives_[objective];
  one.maximize = goals.empty() ? !minimize.value() : goals[objective] == "max";
  if (minimize && *minimize == one.maximize) {
    throw options_.error("goal", one.metric + " is better when " + (*minimize ? "smaller" : "greater") +
                                     ", found goal = \"" + goals[objective] + "\"");
  }
}

// A fit that keeps its best weights by another value than the first metric may deliver any of them.
void StudyPlan::set_delivery(const FitPlan& plan) {
  const bool is_best_by_metric = plan.keep_best && plan.monitor == objectives_.front().metric;
  delivery_.weights = is_best_by_metric ? Delivery::Weights::best
                      : plan.keep_best  ? Delivery::Weights::unknown
                                        : Delivery::Weights::last;
  delivery_.validations = (plan.length.total_steps + plan.validate_every - 1) / plan.validate_every;
}

void StudyPlan::set_directions_of_tasks() {
  for (std::size_t i = 0; i < objectives_.size(); ++i) {
    const std::string& metric = objectives_[i].metric;
    const std::optional<bool> known = known_direction(options_.registry(), metric);
    if (!known && !options_.given("goal")) {
      throw options_.error("goal", "missing; a task does not tell which direction of \"" + metric + "\" is better")
          .hint("goal = \"max\", or \"min\"");
    }
    set_direction(i, known);
  }
}

void StudyPlan::set_directions(const FitPlan& plan) {
  for (std::size_t i = 0; i < objectives_.size(); ++i) {
    const std::string& metric = objectives_[i].metric;
    std::optional<bool> declared;
    try {
      plan.check_metric(metric);
      try {
        declared = plan.minimize(metric);
      } catch (const Error&) {
        // For a metric written in Lua only the option `goal` gives the direction.
        if (!options_.given("goal")) throw;
      }
    } catch (const Error& error) {
      Error wrong = options_.error("metric", error.message());
      throw wrong.hint(error.hint());
    }
    set_direction(i, declared);
  }
}

Study StudyPlan::study() const {
  StudySettings settings{.seed = terms_.seed};
  settings.maximize.clear();
  for (const Objective& objective : objectives_) settings.maximize.push_back(objective.maximize);
  // Repeats that would be spent in vain are found by comparison too.
  const auto pruner = this->pruner();
  settings.compares = (pruner && pruner->compares()) || terms_.repeats > 1;
  settle(settings);
  return {terms_.space, sampler(), std::move(settings)};
}

Value StudyPlan::description(const Study& study) const {
  Value::List objectives;
  for (const Objective& one : objectives_)
    objectives.push_back(Value::Map{{"metric", one.metric}, {"goal", one.maximize ? "max" : "min"}});
  return Value::Map{{"format", 1},
                    {"kind", options_.entry().name},
                    {"name", options_.string("name")},
                    {"space", terms_.space.to_value()},
                    {"objectives", std::move(objectives)},
                    {"sampler", {}},
                    {"scheduler", {}},
                    {"pruner", {}},
                    {"seeds", terms_.repeats},
                    {"aggregate", "mean"},
                    {"seed", terms_.seed},
                    {"by_order", study.by_order()}};
}

std::int64_t StudyPlan::trials_at_once(const Study& study, std::int64_t stack, std::int64_t left) const {
  const std::int64_t share = left / workers_ + (left % workers_ > 0 ? 1 : 0);
  const std::int64_t most = std::min((stack + terms_.repeats - 1) / terms_.repeats, share);
  // In a deterministic study no trial of a stack may depend on another one of it, and what learns should not choose
  // many points before it hears of one.
  return terms_.is_deterministic || study.learns() ? std::min(most, Study::lag) : most;
}

std::int64_t StudyPlan::repeat_seed(std::int64_t repeat) const {
  return seed_from(
      Key(static_cast<std::uint64_t>(terms_.seed)).fold("repeat").fold(static_cast<std::uint64_t>(repeat)));
}

Options StudyPlan::build_with(Value::Map params, std::int64_t trial, std::int64_t repeat) const {
  const std::int64_t seed = repeat_seed(repeat);
  const auto hp = std::make_shared<Params>(std::move(params));
  hp->values.insert_or_assign("seed", seed);
  hp->values.insert_or_assign("trial", trial);
  build_->rekey(Key(static_cast<std::uint64_t>(terms_.seed)).fold("build").fold(static_cast<std::uint64_t>(trial)));
  const std::vector<Argument> arguments{std::static_pointer_cast<Object>(hp)};
  auto spec = std::make_shared<Spec>(*build_->build(arguments));
  const std::string& kind = spec->value["@"].string();
  if (kind != "fit" && kind != "task") {
    throw options_.error(
        "build", "expected a lab.fit or a lab.task from the function at " + build_->where() + ", found lab." + kind);
  }
  if (example_ && kind != example_->entry().name) {
    throw options_.error("build", "expected a lab." + example_->entry().name + " for each trial, found lab." + kind);
  }
  const std::string& metric = objectives_.front().metric;
  if (kind == "fit" && spec->value["monitor"].is_nil() && !is_of_test(objectives_.front())) {
    spec->value.set("monitor", metric);
    if (spec->value["goal"].is_nil() && options_.given("goal"))
      spec->value.set("goal", strings(options_, "goal").front());
  }
  if (spec->value["seed"].is_nil()) spec->value.set("seed", seed);
  return {options_.registry(), std::move(spec), ""};
}

std::int64_t StudyPlan::stack_of(const FitPlan& fit) const {
  const Value& stack = options_.get("stack");
  if (stack.is_boolean() && !stack.boolean()) return 1;
  if (!stack.is_integer()) return stack_size(fit, settings_.threads);
  return why_alone(fit).empty() ? stack.integer() : 1;
}

bool StudyPlan::demands_stack() const {
  const Value& stack = options_.get("stack");
  return stack.is_integer() || stack == Value(true);
}

std::string StudyPlan::why_no_stack(const FitPlan& fit) const { return demands_stack() ? why_alone(fit) : ""; }

void StudyPlan::check_stack(const FitPlan& fit) const {
  const std::string why = why_no_stack(fit);
  if (why.empty()) return;
  throw options_
      .error("",
             "stack = " + options_.get("stack").brief() + ": expected fits that can train together, found that " + why)
      .hint("stack = \"auto\" trains fits together where they can");
}

FitPlan StudyPlan::plan_fit(const Options& fit) const {
  for (const Option& option : fit.entry().options) {
    if (option.is_alone && fit.given(option.name)) {
      throw fit.error(option.name, "expected no such option in a fit that lab." + options_.entry().name + " builds")
          .hint("train the best point once more by a lab.fit of its own");
    }
  }
  if (is_auto_batch(fit)) {
    throw fit
        .error("batch",
               "\"auto\" is for a fit that trains by itself, found a fit that a study builds: its trials "
               "would have batches of the memory that is free at the time")
        .hint("`trainlab check` of the fit by itself says which batch fits; batch = 64");
  }
  if (is_auto_memory(fit)) {
    throw fit.child("memory")
        .error("budget",
               "chooses options for a fit that trains by itself, found a fit that a study builds: its trials would "
               "have the options of the memory that is free at the time")
        .hint("`trainlab check` of the fit by itself prints the options; the fit of the study can have these");
  }
  if (takes_free_memory(fit)) {
    throw fit.child("memory")
        .error("recompute",
               "\"auto\" without a budget takes what is free, found a fit that a study builds: its trials "
               "would depend on the memory that is free at the time")
        .hint("recompute = \"auto\", budget = \"2 GB\"");
  }
  if (has_relative_budget(fit)) {
    throw fit.child("memory")
        .error("budget", "expected bytes in a fit that a study builds, found \"" +
                             fit.child("memory").string("budget") +
                             "\": its trials would depend on the memory that is free at the time")
        .hint("budget = \"2 GB\"");
  }
  try {
    return trainlab::plan_fit(fit, settings_, data_->open(fit, settings_));
  } catch (const Error& error) {
    const std::string option = option_behind(fit, error);
    if (option.empty()) throw;
    Error own = options_.error(option, error.message());
    throw own.hint(error.hint());
  }
}

// The option of the stage from which a fit has taken the option of an error: see build_with(). Empty where it has not.
std::string StudyPlan::option_behind(const Options& fit, const Error& error) const {
  if (error.kind() != ErrorKind::recipe || !fit.given("monitor") || fit.string("monitor") != objectives_.front().metric)
    return {};
  if (error.path() == "monitor") return "metric";
  if (error.path() != "goal" || fit.given("goal") != options_.given("goal")) return {};
  return !fit.given("goal") || fit.string("goal") == strings(options_, "goal").front() ? "goal" : "";
}

}  // namespace trainlab

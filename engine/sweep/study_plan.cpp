#include "study_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/params.h"
#include "stacking.h"
#include "study/constraints.h"
#include "study/no_improvement.h"
#include "study/sampler.h"
#include "train/model_file.h"

namespace trainlab {

namespace {

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
// How many trials are built at most to find one valid fit (its metrics give the directions).
constexpr std::int64_t probes = 4;

// Makes the settings of a stage those of its fits.
void settle_for_fits(RunSettings& settings) {
  settings.quiet = true;
  settings.extended.reset();
  settings.extends_now = false;
}

std::vector<std::string> strings(const Options& stage, const char* option) {
  std::vector<std::string> all;
  if (!stage.has(option)) return all;
  for (const Value& one : stage.get(option).list()) all.push_back(one.string());
  return all;
}

// The sampler of an ensemble: its space has one point.
class OnePoint final : public Sampler {
 public:
  bool sample(std::int64_t, std::int64_t, std::span<const std::span<const double>>, std::span<double>) override {
    return true;
  }
};

}  // namespace

const DataParts* OpenedData::open(const Options& fit, const RunSettings& settings) {
  const Options spec = fit.child("data");
  if (holds_function(spec.value())) return nullptr;
  const std::string key = to_json(without_places(spec.value()));
  const auto known = opened_.find(key);
  if (known != opened_.end()) return &known->second;
  return &opened_.emplace(key, open_data(spec, {.seed = settings.seed})).first->second;
}

// Members that a sweep has trained keep the seeds that they were trained with.
std::int64_t StudyPlan::seed_of(const Options& stage, const RunSettings& settings) {
  if (stage.given("seed")) return stage.integer("seed");
  if (stage.entry().name != "ensemble" || !stage.given("from")) return settings.seed;
  const Value& swept = stage.get("from")["seed"];
  return swept.is_integer() ? swept.integer() : settings.seed;
}

StudyPlan::StudyPlan(const Options& stage, const RunSettings& settings)
    : options_(stage),
      settings_(settings),
      extends_(settings.extends_now),
      extended_(settings.extended ? std::optional(settings.extended->count) : std::nullopt),
      seed_(seed_of(stage, settings)),
      workers_(settings.workers.value_or(static_cast<int>(stage.integer("workers")))),
      space_(is_ensemble() ? Space({}) : make_space(stage)),
      build_(stage.function("build")) {
  settle_for_fits(settings_);
  if (!is_ensemble()) {
    repeats_ = stage.integer("seeds");
    if (!stage.given("trials") && !stage.given("time")) {
      const bool ends = space_.size() > 0 && sampler_ends(stage.child("sampler"));
      if (!ends)
        throw stage.error("trials", "expected a number of trials or a time, found neither").hint("trials = 64");
    }
    if (ends_without_improvement() && stage.get("metric").list().size() > 1)
      throw stage.error("improvement", "goes with one metric, found several");
    if (space_.size() == 0) throw stage.error("space", "expected at least one parameter, found none");
    if (settings.extends_now && stage.given("time")) {
      throw usage_error("expected a sweep that is bounded by its trials, found one with a budget of time")
          .hint("begin a new run with more time");
    }
    if (settings.extends_now && stage.given("trials") && *extended_ <= stage.integer("trials")) {
      throw usage_error("expected a total of more than the " + std::to_string(stage.integer("trials")) +
                        " trials of the run, found " + settings.extended->text())
          .hint("extend takes the new total, not what is to be added");
    }
  }
  plan_objectives();
  time_budget();
  pruner();
  if (const auto given = static_cast<std::int64_t>(enqueued().size()); given > trials()) {
    throw options_.error("trials", "expected at least the " + std::to_string(given) + " points of enqueue, found " +
                                       std::to_string(trials()));
  }
  find_directions();
}

// A scheduler continues one fit of each configuration.
void StudyPlan::check_lineage(const Study& study) const {
  if (!study.has_segments()) return;
  const std::string& name = options_.child("scheduler").entry().name;
  if (repeats_ > 1) throw options_.error("seeds", "expected 1 with " + name + ", found " + std::to_string(repeats_));
  if (options_.given("pruner")) {
    throw options_.error("pruner", name + " itself ends bad configurations; it goes without a pruner");
  }
  if (options_.string("duplicates") != "allow") {
    throw options_.error("duplicates",
                         "trials of " + name + " keep the parameters of their parents; expected \"allow\"");
  }
}

std::int64_t StudyPlan::trials() const {
  if (is_ensemble()) return options_.integer("seeds");
  if (extended_) return *extended_;
  return options_.given("trials") ? options_.integer("trials") : no_limit;
}

double StudyPlan::time_budget() const {
  if (is_ensemble() || !options_.given("time")) return 0;
  const Duration time = options_.duration("time");
  if (time.unit != Unit::seconds || time.amount <= 0)
    throw options_.error("time", "expected a time such as \"10 min\" or \"18 h\", found \"" + to_text(time) + "\"");
  return time.amount;
}

bool StudyPlan::deterministic() const { return !is_ensemble() && options_.boolean("deterministic"); }

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

// The fit is as long as the longest chain of segments, and the sampler has a point for each configuration.
void StudyPlan::check_length(const FitPlan& fit, const Study& study) const {
  if (!study.has_segments() || trials() == no_limit) return;
  if (const std::int64_t begin = study.scheduler().beginnings(trials()); study.points().value_or(begin) < begin) {
    throw options_.error("sampler", "expected points for the " + std::to_string(begin) + " configurations of " +
                                        options_.child("scheduler").entry().name + ", found " +
                                        std::to_string(*study.points()));
  }
  if (fit.length.total_steps == 0) return;
  const std::int64_t has = (fit.length.total_steps + fit.validate_every - 1) / fit.validate_every;
  const std::int64_t needs = study.scheduler().longest(trials());
  if (needs <= has) return;
  throw options_
      .error("scheduler", "its trials train for up to " + std::to_string(needs) +
                              " validations, the fit that build returns has " + std::to_string(has))
      .hint("give the fit more epochs, validate it more often, or have fewer trials");
}

// Which direction is better is known to the metrics of a fit: some trials are built and planned, until one is right.
void StudyPlan::find_directions() {
  Study study = this->study();
  check_lineage(study);
  std::optional<Error> first;
  for (std::int64_t probe = 0; probe < probes; ++probe) {
    const Study::Asked asked = study.ask();
    if (!asked.trial) break;
    std::optional<FitPlan> plan;
    try {
      example_ = build(study.trials().point(*asked.trial), *asked.trial, 1);
      plan.emplace(plan_fit(*example_));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::recipe) throw;
      if (!first) first = error;
      continue;
    }
    const std::vector<std::string> goals = strings(options_, "goal");
    for (std::size_t i = 0; i < objectives_.size(); ++i) {
      Objective& objective = objectives_[i];
      try {
        plan->check_metric(objective.metric);
        objective.maximize = goals.empty() ? !plan->minimize(objective.metric) : goals[i] == "max";
      } catch (const Error& error) {
        Error wrong = options_.error("metric", error.message());
        throw wrong.hint(error.hint());
      }
      std::optional<bool> declared;
      try {
        declared = plan->minimize(objective.metric);
      } catch (const Error&) {
        // A metric written in Lua: the goal is what is known of it.
      }
      if (declared && *declared == objective.maximize) {
        throw options_.error("goal", objective.metric + " is better when " + (*declared ? "smaller" : "greater") +
                                         ", found goal = \"" + goals[i] + "\"");
      }
    }
    check_length(*plan, study);
    return;
  }
  if (first) throw *first;
  throw options_.error("space", "has no point that could be tried");
}

Study StudyPlan::study() const {
  StudySettings settings{.maximize = {}, .deterministic = deterministic(), .seed = seed_};
  for (const Objective& objective : objectives_) settings.maximize.push_back(objective.maximize);
  // Repeats that would be spent in vain are found by comparison too.
  const auto pruner = this->pruner();
  settings.compares = (pruner && pruner->compares()) || repeats_ > 1;
  if (!is_ensemble()) settings.distinct = options_.string("duplicates") == "resample";
  if (ends_without_improvement()) {
    const std::optional<double> least =
        options_.get("improvement").is_number() ? std::optional(options_.number("improvement")) : std::nullopt;
    settings.over = [rule = std::make_shared<NoImprovement>(space_, least), maximize = objectives_.front().maximize](
                        const Trials& trials, std::int64_t visible) {
      return rule->judge(trials, maximize, visible).ends;
    };
  }
  if (!is_ensemble() && options_.given("scheduler"))
    settings.scheduler = make_scheduler(options_.child("scheduler"), space_, seed_, objectives_.size());
  if (!is_ensemble() && options_.given("constraints")) settings.allowed = allowed_by(options_, space_, seed_);
  std::unique_ptr<Sampler> sampler = is_ensemble()
                                         ? std::make_unique<OnePoint>()
                                         : make_sampler(options_.child("sampler"), space_, seed_, objectives_.size());
  return {space_, std::move(sampler), std::move(settings)};
}

bool StudyPlan::ends_without_improvement() const {
  if (is_ensemble() || !options_.given("improvement")) return false;
  return options_.get("improvement").is_number() || options_.boolean("improvement");
}

std::unique_ptr<Pruner> StudyPlan::pruner() const {
  if (is_ensemble() || !options_.given("pruner")) return nullptr;
  return make_pruner(options_.child("pruner"), objectives_.size());
}

std::vector<std::vector<double>> StudyPlan::enqueued() const {
  std::vector<std::vector<double>> points;
  if (is_ensemble() || !options_.given("enqueue")) return points;
  const Value::List& given = options_.get("enqueue").list();
  for (std::size_t i = 0; i < given.size(); ++i) {
    try {
      points.push_back(space_.point_of(given[i]));
    } catch (const Error& error) {
      throw options_.error("enqueue", "of point " + std::to_string(i + 1) + ", " +
                                          (error.path().empty() ? "" : error.path() + ": ") + error.message());
    }
  }
  return points;
}

Value StudyPlan::description(const Study& study) const {
  const auto printed = [&](const char* option) -> Value {
    if (is_ensemble() || !options_.has(option)) return {};
    return options_.registry().print(options_.child(option).value());
  };
  Value::List objectives;
  for (const Objective& one : objectives_)
    objectives.push_back(Value::Map{{"metric", one.metric}, {"goal", one.maximize ? "max" : "min"}});
  return Value::Map{{"format", 1},
                    {"kind", options_.entry().name},
                    {"name", options_.string("name")},
                    {"space", space_.to_value()},
                    {"objectives", std::move(objectives)},
                    {"sampler", printed("sampler")},
                    {"scheduler", printed("scheduler")},
                    {"pruner", printed("pruner")},
                    {"seeds", repeats_},
                    {"aggregate", is_ensemble() ? "mean" : options_.string("aggregate")},
                    {"seed", seed_},
                    {"by_order", study.by_order()}};
}

double StudyPlan::aggregate(std::vector<double> values) const {
  if (values.empty()) return std::nan("");
  if (!is_ensemble() && options_.string("aggregate") == "median") {
    if (std::ranges::any_of(values, [](double x) { return std::isnan(x); })) return std::nan("");
    std::ranges::sort(values);
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  }
  double sum = 0;
  for (const double x : values) sum += x;
  return sum / static_cast<double>(values.size());
}

std::int64_t StudyPlan::repeat_seed(std::int64_t repeat) const {
  return seed_from(Key(static_cast<std::uint64_t>(seed_)).fold("repeat").fold(static_cast<std::uint64_t>(repeat)));
}

Value::Map StudyPlan::params(std::span<const double> point) const {
  if (!is_ensemble()) return space_.params(point);
  if (options_.given("from")) return options_.get("from")["best"]["params"].map();
  return options_.given("params") && options_.get("params").is_map() ? options_.get("params").map() : Value::Map{};
}

Options StudyPlan::build(std::span<const double> point, std::int64_t trial, std::int64_t repeat) const {
  return build_with(params(point), trial, is_ensemble() ? trial + 1 : repeat);
}

Options StudyPlan::build_with(Value::Map params, std::int64_t trial, std::int64_t repeat) const {
  const std::int64_t seed = repeat_seed(repeat);
  const auto hp = std::make_shared<Params>(std::move(params));
  hp->values.insert_or_assign("seed", seed);
  hp->values.insert_or_assign("trial", trial);
  build_->rekey(Key(static_cast<std::uint64_t>(seed_)).fold("build").fold(static_cast<std::uint64_t>(trial)));
  const std::vector<Argument> arguments{std::static_pointer_cast<Object>(hp)};
  auto spec = std::make_shared<Spec>(*build_->build(arguments));
  if (spec->value["@"] != Value("fit")) {
    throw options_.error("build", "expected a lab.fit from the function at " + build_->where() + ", found lab." +
                                      spec->value["@"].string());
  }
  const std::string& metric = objectives_.front().metric;
  if (spec->value["monitor"].is_nil() && !metric.starts_with("test.")) {
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
  return can_stack(fit) ? stack.integer() : 1;
}

FitPlan StudyPlan::plan_fit(const Options& fit) const {
  return trainlab::plan_fit(fit, settings_, data_.open(fit, settings_));
}

}  // namespace trainlab
